/**
 * The time zones of Windows and the IANA zone that stands for each in every territory: CLDR's windowsZones by
 * `windows-iana`, and what that lacks or what CLDR has said since.
 */
import { WINDOWS_TO_IANA_MAP } from 'windows-iana';

/** What stands for every territory that has no zone of its own. */
const EVERYWHERE = '001';

/** Names that Windows no longer has or Outlook alone writes, and two zones whose clocks went apart from their neighbours'. */
const CORRECTIONS: Readonly<Record<string, string>> = {
  'Armenian Standard Time': 'Asia/Yerevan',
  'Central Asia Standard Time': 'Asia/Bishkek',
  'Coordinated Universal Time': 'UTC',
  'Kamchatka Standard Time': 'Asia/Kamchatka',
  'Mid-Atlantic Standard Time': 'Etc/GMT+2',
  'Mountain Standard Time (Mexico)': 'America/Mazatlan',
};

/** By name in lower case. */
export const WINDOWS_ZONES: ReadonlyMap<string, string> = new Map([
  ...WINDOWS_TO_IANA_MAP.flatMap(({ iana: [zone], territory, windowsName }): [string, string][] =>
    territory === EVERYWHERE && zone !== undefined ? [[windowsName.toLowerCase(), zone]] : [],
  ),
  ...Object.entries(CORRECTIONS).map(([name, zone]): [string, string] => [name.toLowerCase(), zone]),
]);
