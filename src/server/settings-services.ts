/** What administrators set, and what acts by it: settings, automations, client releases, mail's DNS records, exports. */
import type { Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AttachmentReader } from '#storage/attachments/attachment-records.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { AutomationOutbox } from '#src/integrations/automation-outbox.ts';
import { Automations } from '#src/integrations/automations.ts';
import { ClientReleases } from '#src/settings/client-releases.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { MailDns } from '#src/settings/mail-dns.ts';
import { MessageExport } from '#src/compliance/message-export.ts';
import { Settings } from '#src/settings/settings.ts';

export interface SettingsServicesOptions {
  readonly accounts: Accounts;
  readonly attachments: Pick<AttachmentReader, 'countContents' | 'find'>;
  readonly clock: Clock;
  readonly config: Pick<Config, 'allowPrivateTargets'>;
  /** The epoch of the data folder. */
  readonly epoch: string;
  readonly lanes: Pick<Lanes, 'read' | 'requireReadable'>;
  readonly log: Logger;
}

export type SettingsServices = ReturnType<typeof makeSettingsServices>;

/** Starting and stopping the outbox is the caller's. */
export function makeSettingsServices(
  { attachments, config, epoch, lanes, ...options }: SettingsServicesOptions,
  vault: Vault,
) {
  const { accounts, clock } = options;
  const { allowPrivateTargets } = config;
  const settings = new Settings({ accounts, clock, vault });
  const automationOutbox = new AutomationOutbox({ ...options, vault, allowPrivateTargets });
  return {
    automationOutbox,
    automations: new Automations({
      accounts,
      clock,
      vault,
      allowPrivateTargets,
      removed: async (id) => await automationOutbox.forget(id),
    }),
    clientReleases: new ClientReleases(accounts, clock),
    mailDns: new MailDns({ accounts, clock, settings, vault }),
    messageExport: new MessageExport({ accounts, attachments, clock, lanes, epoch }),
    settings,
  };
}
