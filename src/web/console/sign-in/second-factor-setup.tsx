/** Setting up a second factor: the code to scan or to type, its confirmation, and the recovery codes, once (TFA-01). */
import { useState } from 'react';
import { FieldsForm } from '../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../kit/loaded.tsx';
import { ShownOnce } from '../kit/shown-once.tsx';
import type { ConsoleApi, ReplyOf } from '../session/console-api.ts';
import { t } from '../words/words.ts';
import { CODE_FIELD } from './code-fields.ts';

/** What an authenticator app is to take in. */
export type TotpSetup = ReplyOf<'post /second-factor/setup'>;

/** The QR code and the secret. An SVG document of the server's is shown as an image, which runs nothing. */
export function TotpFigure({ setup: { qr, secret } }: { readonly setup: TotpSetup }) {
  return (
    <div className="totp">
      <img
        src={`data:image/svg+xml;utf8,${encodeURIComponent(qr)}`}
        alt={t('factor.qr')}
        width={220}
        height={220}
        className="parley-qr"
      />
      <p>{t('factor.by-hand')}</p>
      <pre className="secret" tabIndex={0} translate="no">
        {secret}
      </pre>
    </div>
  );
}

export function RecoveryCodes({ codes, onKept }: { readonly codes: readonly string[]; readonly onKept: () => void }) {
  return (
    <section>
      <h2>{t('factor.codes')}</h2>
      <ShownOnce hint="factor.codes-hint" secret={codes.join('\n')} file="parley-recovery-codes.txt" onKept={onKept} />
    </section>
  );
}

export interface SecondFactorSetupProps {
  readonly api: Pick<ConsoleApi, 'call'>;
  /** The second factor is in force and its recovery codes are kept. */
  readonly onDone: () => void;
}

/** Begins a set-up at once, and leads through it. */
export function SecondFactorSetup({ api, onDone }: SecondFactorSetupProps) {
  const [codes, setCodes] = useState<readonly string[]>();
  const setup = useLoaded(async () => await api.call('post /second-factor/setup', {}));
  if (codes !== undefined) return <RecoveryCodes codes={codes} onKept={onDone} />;
  return (
    <LoadedPlace of={setup}>
      {(made) => (
        <ol className="steps">
          <li>
            {t('factor.scan')}
            <TotpFigure setup={made} />
          </li>
          <li>
            {t('factor.type')}
            <FieldsForm
              fields={{ code: CODE_FIELD }}
              submit="factor.confirm"
              send={async ({ code }) => {
                const confirmed = await api.call('post /second-factor/confirm', { body: { code: code.trim() } });
                setCodes(confirmed.recovery_codes);
              }}
            />
          </li>
        </ol>
      )}
    </LoadedPlace>
  );
}
