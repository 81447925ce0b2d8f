/** The audit trail of files that the virus scanner named. */
import type { Clock } from '#src/base/clock.ts';
import type { InfectedUpload } from '#src/protocol/attachments/attachments.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';

/** Writes down whose upload it was, before it is removed. Rejects while nothing can be written. */
export async function auditInfected(accounts: Accounts, clock: Clock, upload: InfectedUpload): Promise<void> {
  const { id, owner, bytes, signature, address } = upload;
  await accounts.change((draft) =>
    draft.audit(clock.now(), {
      event: 'attachment.infected',
      actor: owner,
      address,
      subject: `attachment:${id}`,
      details: { signature, bytes },
    }),
  );
}
