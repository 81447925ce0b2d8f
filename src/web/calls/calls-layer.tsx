/** What of calls stands over the conversations: cards of whoever calls, and the call itself, large or small. */
import './calls.css';
import { useHotkeys } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { useObserved } from '../kit/observable.ts';
import type { CallCenter } from './call-center.ts';
import { CallScreen } from './call-screen.tsx';
import { ElsewhereScreen, OverScreen } from './over-screen.tsx';
import { IncomingCall } from './incoming-call.tsx';

export function CallsLayer({ center }: { readonly center: CallCenter }) {
  const { t } = useTranslation();
  const { me } = useChat();
  useObserved(center, () => center.version);
  const { isElsewhere, ringing, shown } = center;
  const [first] = ringing;
  useHotkeys(
    [
      ['mod+shift+S', () => first !== undefined && void center.accept(first, first.video)],
      ['mod+shift+D', () => first !== undefined && center.decline(first)],
      [
        'mod+shift+M',
        () => shown !== undefined && (shown.media.isSilent ? void shown.media.speak() : shown.media.mute(true)),
      ],
    ],
    [],
  );
  const isLive = shown !== undefined && shown.phase !== 'over';
  return (
    <>
      {ringing.length > 0 && (
        <section className="parley-ringing" aria-label={t('call.incoming')}>
          {ringing.map((call) => (
            <IncomingCall key={call.id} call={call} center={center} />
          ))}
        </section>
      )}
      {isLive && <CallScreen key={shown.host === me ? 'own' : shown.id} call={shown} center={center} />}
      {shown?.phase === 'over' && <OverScreen call={shown} center={center} />}
      {isElsewhere && <ElsewhereScreen center={center} />}
    </>
  );
}
