/** Figures with something in every metric, for the tests of what reads them. */
import { ThreadFigures } from '#src/telemetry/thread-figures.ts';

export const INSTALLATION = { version: '0.1.0', protocolMin: 0, startedAt: Date.UTC(2026, 10, 21, 8, 15) };

/** A thread that has seen one of each thing. */
export function busyThread(name: string): ThreadFigures {
  const figures = new ThreadFigures(name);
  figures.supply(() => ({
    activeActors: { conversation: 3, person: 2 },
    mailboxes: { system: 0, urgent: 1, main: 7, deepest: 4 },
    asksPending: 2,
    droppedLogLines: 5,
    calls: { live: { ringing: 2 }, ended: { missed: 3 } },
  }));
  figures.countRequest('messaging', 'postMessage', 201, 1);
  figures.countRequest('messaging', undefined, 404, 0);
  figures.countRefusal('path_not_found', 'messaging');
  figures.countRefusal('call_step_is_signalling', 'messaging');
  figures.countRefusedFrame('frame_invalid');
  figures.socketOpened(1, 'browser');
  figures.socketOpened(1, 'browser');
  figures.socketOpened(0, 'ios');
  figures.socketClosed(1, 'browser', 'tooSlow');
  figures.eventsPublished('message.new');
  figures.deliveries(10);
  figures.dropped('typing');
  figures.postAcked(2_000_000);
  figures.commit(3, 1_500_000);
  figures.commitFailed();
  figures.actorRestarted('conversation');
  figures.actorQuarantined('person');
  figures.threadRestarted('shard-1');
  figures.askTimedOut();
  return figures;
}
