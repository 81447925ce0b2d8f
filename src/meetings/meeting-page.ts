/** Where a meeting's link leads in a browser: into the app, which asks before it joins. */
import type { FastifyInstance } from 'fastify';
import { Refusal } from '#src/protocol/errors.ts';
import { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import type { Meetings } from './meetings.ts';
import { readWebPage, takesPages } from '#src/http/web-page.ts';

/**
 * Sends browsers on to the app's screen of that link, and serves one page for every link that lets nobody in, whatever is
 * wrong with it (MTG-01). Neither says anything of a meeting, which joining does not tell either before somebody signs in.
 * Opening a link lets nobody in and uses nothing up, since previews and scanners open links too. Who asks for no page is
 * answered as by any path that has no such method.
 */
export function addMeetingPage(app: FastifyInstance, meetings: Pick<Meetings, 'isOpen'>): void {
  const { html, policy } = readWebPage('no-meeting');
  app.get<{ Params: { link: string } }>(
    MEETING_ROUTES.joinMeeting.path,
    { config: { anyVersion: true } },
    async (request, reply) => {
      void reply.headers({ vary: 'Accept, Origin', 'x-robots-tag': 'noindex, nofollow, noarchive' });
      const { link } = request.params;
      if (!takesPages(request.headers.accept)) throw new Refusal('method_not_found');
      // Relative, so that it holds behind a proxy that gives the service a path. What is in force has no letter to escape.
      if (meetings.isOpen(link)) return await reply.redirect(`../../../#/meeting/${link}`, 303);
      return await reply
        .code(404)
        .header('content-security-policy', policy)
        .type('text/html; charset=utf-8')
        .send(html);
    },
  );
}
