/** The page behind a meeting's link: whoever opens it in a browser signs in there and is in the meeting. */
import type { FastifyInstance } from 'fastify';
import { Refusal } from '#src/protocol/errors.ts';
import { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import type { Meetings } from './meetings.ts';
import { readWebPage, takesPages } from '#src/http/web-page.ts';

/**
 * Serves one page for every meeting, and another for every link that lets nobody in, whatever is wrong with it (MTG-01).
 * Neither says anything of a meeting, which joining does not tell either before somebody signs in. Opening a link lets
 * nobody in and uses nothing up, since previews and scanners open links too. Who asks for no page is answered as by any
 * path that has no such method.
 */
export function addMeetingPage(app: FastifyInstance, meetings: Pick<Meetings, 'isOpen'>): void {
  const [open, closed] = [readWebPage('meeting'), readWebPage('no-meeting')];
  app.get<{ Params: { link: string } }>(
    MEETING_ROUTES.joinMeeting.path,
    { config: { anyVersion: true } },
    async (request, reply) => {
      void reply.header('vary', 'Accept, Origin');
      if (!takesPages(request.headers.accept)) throw new Refusal('method_not_found');
      const isOpen = meetings.isOpen(request.params.link);
      const { html, policy } = isOpen ? open : closed;
      return await reply
        .code(isOpen ? 200 : 404)
        .headers({ 'content-security-policy': policy, 'x-robots-tag': 'noindex, nofollow, noarchive' })
        .type('text/html; charset=utf-8')
        .send(html);
    },
  );
}
