/**
 * Checks a data folder: that its records can be read and agree with each other. Walks every table in ranges and looks
 * single records up, so that memory stays small whatever is stored. The folder must not be in use.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { checkAccounts } from './account-check.ts';
import { checkAttachments, checkReferences } from './attachment-check.ts';
import { checkCalendars } from './calendar-check.ts';
import { mapBytesOf } from '../engine/environment.ts';
import { Findings } from '../engine/findings.ts';
import { FOLDER_FORMAT, folderPaths, lanePath, readManifest } from '../engine/folder.ts';
import { recoverEach } from '../engine/log-recovery.ts';
import { checkLane } from './lane-check.ts';
import { openLane, type LaneEnvironment } from '../engine/lane.ts';

export interface CheckReport {
  /** One sentence each; empty when the folder is sound. */
  readonly problems: string[];
  readonly conversations: number;
  readonly messages: number;
  readonly people: number;
}

/**
 * What is wrong with the folder of a stopped server, whose lock the caller has.
 * @throws FolderError when it is not a data folder.
 */
export async function checkFolder(folder: string): Promise<CheckReport> {
  const { format, lanes } = readManifest(folder);
  const findings = new Findings('');
  if (format < FOLDER_FORMAT) {
    findings.say(`The folder has format ${format}: start the server once, which brings it to ${FOLDER_FORMAT}.`);
    return { problems: findings.problems, conversations: 0, messages: 0, people: 0 };
  }
  await recoverEach(folder, lanes, (sentence) => findings.say(sentence));
  if (findings.problems.length > 0) return { problems: findings.problems, conversations: 0, messages: 0, people: 0 };
  const counts = { conversations: 0, messages: 0 };
  const open: LaneEnvironment[] = [];
  try {
    for (const lane of presentLanes(folder, lanes, findings)) {
      const environment = openOrSay(folder, lane, findings);
      if (environment === undefined) continue;
      open.push(environment);
      const here = findings.at(`In lane ${lane}, `);
      const { conversations, messages } = checkLane(environment.tables, lane, lanes, here);
      checkReferences(environment.tables, here);
      counts.conversations += conversations;
      counts.messages += messages;
    }
    // All lanes at once, since any of them may have the message that an attachment belongs to.
    await checkAttachments(folder, open, findings.at('Among the attachments, '));
  } finally {
    for (const environment of open) await environment.close();
  }
  await checkCalendars(folder, findings.at('Among the calendars, '));
  const people = await checkAccounts(folder, findings.at('In the accounts, '));
  return { problems: findings.problems, ...counts, people };
}

/** The lane's environment, or undefined and a problem when its file is no such thing. */
function openOrSay(folder: string, lane: number, findings: Findings): LaneEnvironment | undefined {
  const path = lanePath(folder, lane);
  try {
    return openLane(path, mapBytesOf(path));
  } catch (error) {
    findings.say((error as Error).message);
    return undefined;
  }
}

/** The lanes that have a file. All have, or none: a folder whose server never started is sound and empty. */
function presentLanes(folder: string, lanes: number, findings: Findings): number[] {
  const root = folderPaths(folder).lanes;
  const files = new Set((existsSync(root) ? readdirSync(root) : []).filter((name) => name.endsWith('.mdb')));
  const all = Array.from({ length: lanes }, (_, lane) => lane);
  const present = all.filter((lane) => files.delete(basename(lanePath('', lane))));
  if (present.length > 0) {
    for (const lane of all) if (!present.includes(lane)) findings.say(`Lane ${lane} has no file.`);
  }
  for (const name of files) findings.say(`The file lanes/${name} belongs to none of the ${lanes} lanes.`);
  return present;
}
