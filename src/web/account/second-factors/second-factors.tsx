/** A person’s own second factors: what there is, setting up, taking away. Each change asks for a proof first where none counts. */
import { Badge, Button, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { AccountApi, AccountReplyOf } from '#src/client/account-api.ts';
import { toParleyError } from '#src/client/parley-error.ts';
import { getPasskey, hasPasskeys, makePasskey } from '#src/client/passkey.ts';
import { browserName } from '../kept-session.ts';
import { FormAnswer, type Answer } from '../form-answer.tsx';
import { harmlessName } from '../../kit/harmless-text.ts';
import { currentLocale, sentenceOf } from '../../kit/language.ts';
import { CodeField, FactorProof, type Proof, type ProofWay } from './factor-proof.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';

type Own = AccountReplyOf<'listOwnFactors'>;
type Factor = Own['items'][number];
type Setup = AccountReplyOf<'setUpTotp'>;

/** What is asked of the person now. */
type Step =
  | { readonly kind: 'list' }
  /** A proof, and what it is for. */
  | { readonly kind: 'proof'; readonly next: () => Promise<void> }
  | { readonly kind: 'app'; readonly setup: Setup }
  | { readonly kind: 'passkey' }
  | { readonly kind: 'codes'; readonly codes: readonly string[] };

const LIST: Step = { kind: 'list' };

export interface SecondFactorsProps {
  readonly account: Pick<AccountApi, 'call'>;
  /** A factor came into force, and its recovery codes are kept. */
  readonly onAdded?: () => void;
}

export function SecondFactors({ account, onAdded = () => undefined }: SecondFactorsProps) {
  const factors = useOwnFactors(account, onAdded);
  const { added, answer, back, own, step } = factors;
  if (own === undefined) return answer === undefined ? <Skeleton height={80} /> : <FormAnswer answer={answer} />;
  switch (step.kind) {
    case 'proof':
      return <OwnProof account={account} own={own} onProven={() => factors.proven(step.next)} onBack={back} />;
    case 'app':
      return <AppSetup account={account} setup={step.setup} onAdded={added} onBack={back} />;
    case 'passkey':
      return <PasskeySetup account={account} onAdded={added} onBack={back} />;
    case 'codes':
      return <RecoveryCodes codes={step.codes} onKept={factors.kept} />;
    default:
      return (
        <FactorList
          own={own}
          answer={answer}
          onApp={factors.setUpApp}
          onPasskey={factors.addPasskey}
          onCodes={factors.renewCodes}
          onRemove={factors.remove}
        />
      );
  }
}

/** What there is, what is asked of the person now, and what they can do. */
function useOwnFactors(account: SecondFactorsProps['account'], onAdded: () => void) {
  const { t } = useTranslation();
  const [own, setOwn] = useState<Own>();
  const [step, setStep] = useState<Step>(LIST);
  const [answer, setAnswer] = useState<Answer>();
  const fail = (thrown: unknown) => setAnswer({ text: sentenceOf(thrown), isDone: false });
  const read = async () => setOwn(await account.call('listOwnFactors'));
  useEffect(() => void read().catch(fail), [account]);
  /** Does something that wants a proof: one is asked for where the server says that none counts. */
  const proven = (action: () => Promise<void>) => {
    setAnswer(undefined);
    setStep(LIST);
    action().catch((thrown: unknown) => {
      if (toParleyError(thrown).code === 'proof_required') setStep({ kind: 'proof', next: action });
      else fail(thrown);
    });
  };
  const kept = () => {
    setStep(LIST);
    read().catch(fail);
    onAdded();
  };
  return {
    own,
    step,
    answer,
    proven,
    kept,
    back: () => setStep(LIST),
    /** A factor is in force; the first one comes with recovery codes. */
    added: async (codes: readonly string[] | null) => {
      await read();
      if (codes !== null) return setStep({ kind: 'codes', codes });
      setStep(LIST);
      setAnswer({ text: t('factor.added'), isDone: true });
      onAdded();
    },
    setUpApp: () => proven(async () => setStep({ kind: 'app', setup: await account.call('setUpTotp') })),
    addPasskey: () =>
      proven(async () => {
        // Judged before a name is asked for; what the passkey is made with is asked for anew.
        await account.call('beginPasskey');
        setStep({ kind: 'passkey' });
      }),
    renewCodes: () =>
      proven(async () => {
        setStep({ kind: 'codes', codes: (await account.call('renewOwnRecoveryCodes')).recovery_codes });
      }),
    remove: (factor: Factor) =>
      proven(async () => {
        await account.call('removeFactor', { params: { factor: factor.id } });
        await read();
        setAnswer({ text: t('factor.removed'), isDone: true });
      }),
  };
}

interface FactorListProps {
  readonly own: Own;
  readonly answer: Answer | undefined;
  readonly onApp: () => void;
  readonly onPasskey: () => void;
  readonly onCodes: () => void;
  readonly onRemove: (factor: Factor) => void;
}

function FactorList({ answer, onApp, onCodes, onPasskey, onRemove, own }: FactorListProps) {
  const { t } = useTranslation();
  const { items, recovery_codes_left: left } = own;
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {t(items.length === 0 ? 'factor.none' : 'factor.some')}
      </Text>
      {items.map((factor) => (
        <FactorRow key={factor.id} factor={factor} onRemove={() => onRemove(factor)} />
      ))}
      {items.length > 0 && (
        <Group justify="space-between">
          <Text size="sm">{t('factor.codesLeft', { count: left })}</Text>
          <Button variant="default" size="compact-sm" onClick={onCodes}>
            {t('factor.newCodes')}
          </Button>
        </Group>
      )}
      <FormAnswer answer={answer} />
      <Group gap="xs">
        <Button variant={items.length === 0 ? 'filled' : 'default'} onClick={onApp}>
          {t(items.some(({ kind }) => kind === 'totp') ? 'factor.replaceApp' : 'factor.addApp')}
        </Button>
        {hasPasskeys() && (
          <Button variant="default" onClick={onPasskey}>
            {t('factor.addPasskey')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function FactorRow({ factor, onRemove }: { readonly factor: Factor; readonly onRemove: () => void }) {
  const { t } = useTranslation();
  const { kind, last_used_at: usedAt, name, signs_in_alone: isAlone } = factor;
  const shown = harmlessName(name, t(`factor.kind.${kind}`));
  const day = (text: string) => new Date(text).toLocaleDateString(currentLocale());
  return (
    <Group wrap="nowrap" justify="space-between">
      <div className="parley-person-words">
        <Text truncate>
          <bdi>{shown}</bdi>{' '}
          {isAlone && (
            <Badge variant="default" size="sm">
              {t('factor.alone')}
            </Badge>
          )}
        </Text>
        <Text size="xs" c="dimmed">
          {shown !== t(`factor.kind.${kind}`) && `${t(`factor.kind.${kind}`)} · `}
          {usedAt === null ? t('factor.neverUsed') : t('devices.lastUsed', { at: day(usedAt) })}
        </Text>
      </div>
      <Button
        variant="default"
        size="compact-sm"
        onClick={onRemove}
        aria-label={t('factor.removeNamed', { name: shown })}
      >
        {t('factor.remove')}
      </Button>
    </Group>
  );
}

interface OwnProofProps {
  readonly account: Pick<AccountApi, 'call'>;
  readonly own: Own;
  readonly onProven: () => void;
  readonly onBack: () => void;
}

/** With a factor in force a factor proves it, and a password does not. */
function OwnProof({ account, onBack, onProven, own }: OwnProofProps) {
  const has = (kind: Factor['kind']) => own.items.some((factor) => factor.kind === kind);
  const ways: ProofWay[] =
    own.items.length === 0
      ? ['password']
      : [
          ...(has('totp') ? (['code'] as const) : []),
          ...(has('passkey') && hasPasskeys() ? (['passkey'] as const) : []),
          ...(own.recovery_codes_left > 0 ? (['recovery_code'] as const) : []),
        ];
  const prove = async (proof: Proof) => {
    await account.call('proveOneself', { body: proof });
    onProven();
  };
  const ask = async () => await getPasskey(await account.call('beginProof'));
  return <FactorProof ways={ways} getPasskey={ask} onProof={prove} onBack={onBack} />;
}

interface SetupProps {
  readonly account: Pick<AccountApi, 'call'>;
  readonly onAdded: (codes: readonly string[] | null) => Promise<void>;
  readonly onBack: () => void;
}

function AppSetup({ account, onAdded, onBack, setup }: SetupProps & { readonly setup: Setup }) {
  const { t } = useTranslation();
  const [code, setCode] = useState('');
  const add = async () => {
    const { recovery_codes: codes } = await account.call('confirmTotp', {
      body: { code: code.trim(), name: t('factor.kind.totp') },
    });
    await onAdded(codes);
  };
  return (
    <SetupForm onSend={add} onBack={onBack}>
      <Text size="sm">{t('factor.scan')}</Text>
      {/* A document of the server’s, shown as an image, which runs nothing. */}
      <img
        src={`data:image/svg+xml;utf8,${encodeURIComponent(setup.qr)}`}
        alt={t('factor.qr')}
        width={200}
        height={200}
        className="parley-qr"
      />
      <TextInput
        label={t('factor.byHand')}
        value={setup.secret}
        readOnly
        translate="no"
        onFocus={(event) => event.currentTarget.select()}
      />
      <CodeField text={code} onText={setCode} />
    </SetupForm>
  );
}

function PasskeySetup({ account, onAdded, onBack }: SetupProps) {
  const { t } = useTranslation();
  const [name, setName] = useState(browserName());
  const add = async () => {
    const passkey = await makePasskey(await account.call('beginPasskey'));
    const { recovery_codes: codes } = await account.call('addPasskey', { body: { name: name.trim(), passkey } });
    await onAdded(codes);
  };
  return (
    <SetupForm onSend={add} onBack={onBack}>
      <Text size="sm">{t('factor.passkeyHow')}</Text>
      <TextInput
        label={t('factor.passkeyName')}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        required
        withAsterisk={false}
        maxLength={100}
        autoFocus
      />
    </SetupForm>
  );
}

interface SetupFormProps {
  readonly onSend: () => Promise<void>;
  readonly onBack: () => void;
  readonly children: ReactNode;
}

function SetupForm({ children, onBack, onSend }: SetupFormProps) {
  const { t } = useTranslation();
  const [answer, setAnswer] = useState<Answer>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setAnswer(undefined);
    try {
      await onSend();
    } catch (thrown) {
      setAnswer({ text: sentenceOf(thrown), isDone: false });
      setBusy(false);
    }
  };
  return (
    <Stack component="form" onSubmit={(event) => void send(event)} gap="sm">
      {children}
      <FormAnswer answer={answer} />
      <Group>
        <Button type="submit" loading={isBusy}>
          {t('factor.putInForce')}
        </Button>
        <Button variant="default" onClick={onBack}>
          {t('app.cancel')}
        </Button>
      </Group>
    </Stack>
  );
}
