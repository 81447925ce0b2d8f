/** A call that is over with something to say: what became of it, and the way on. */
import { Button, FocusTrap, Group, Text, Title } from '@mantine/core';
import { Phone } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Call, CallEnding } from '#src/client/calling/call.ts';
import { sentenceOf } from '../kit/language.ts';
import { ANSWER_COLOR } from '../kit/theme.ts';
import type { CallCenter } from './call-center.ts';
import { useCallConversation, useCallName } from './call-words.ts';

const SAID = ['missed', 'unanswered', 'declined', 'busy', 'failed', 'lost', 'removed'] as const;
type Said = (typeof SAID)[number];

function isSaid(ending: CallEnding | undefined): ending is Said {
  return (SAID as readonly unknown[]).includes(ending);
}

export function OverScreen({ call, center }: { readonly call: Call; readonly center: CallCenter }) {
  const { t } = useTranslation();
  const name = useCallName(call);
  const conversation = useCallConversation(call);
  const { ending, error, video } = call;
  const words = t(`call.over.${isSaid(ending) ? ending : 'failed'}`, { name });
  return (
    <Over title={words} name={name} center={center}>
      {error !== undefined && (
        <Text ta="center" role="alert">
          {sentenceOf(error)}
        </Text>
      )}
      {conversation !== undefined && ending !== 'removed' && (
        <Button
          color={ANSWER_COLOR}
          leftSection={<Phone size={16} />}
          onClick={() => {
            center.dismiss();
            void center.start(conversation, video);
          }}
        >
          {t('call.again')}
        </Button>
      )}
    </Over>
  );
}

export function ElsewhereScreen({ center }: { readonly center: CallCenter }) {
  const { t } = useTranslation();
  return <Over title={t('call.over.elsewhere')} name="" center={center} />;
}

interface OverProps {
  readonly title: string;
  readonly name: string;
  readonly center: CallCenter;
  readonly children?: ReactNode;
}

function Over({ title, name, center, children }: OverProps) {
  const { t } = useTranslation();
  return (
    <FocusTrap active>
      <section className="parley-call" role="dialog" aria-modal="true" aria-label={title} data-phase="over">
        <div className="parley-call-over">
          <Title order={2} size="h3" ta="center">
            {title}
          </Title>
          {name !== '' && (
            <Text ta="center">
              <bdi>{name}</bdi>
            </Text>
          )}
          <Group justify="center">
            {children}
            <Button variant="default" data-autofocus onClick={() => center.dismiss()}>
              {t('call.dismiss')}
            </Button>
          </Group>
        </div>
      </section>
    </FocusTrap>
  );
}
