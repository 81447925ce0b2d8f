/** The tables of docs/scaling.md follow from the figures that the page states: nobody reckons them by hand. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SETTINGS } from '#src/config.ts';
import { SNAPSHOT_AGE_MILLIS, STREAM_SHARE } from '#storage/cluster/snapshot-choice.ts';

const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
const PEOPLE = [100_000, 1_000_000, 10_000_000];
const HOUR_SECONDS = 3_600;
const BITS = 8;
/** Days of a week, and those of them on which people work: copies that are due by their age are due on others, too. */
const [WEEK_DAYS, WORKING_WEEK] = [7, 5];
/** From micros of CPU a second to cores, and from bytes to the units of the tables. */
const [MICROS, MEGA, GIGA, TERA] = [1e6, 1e6, 1e9, 1e12];

/** Figures that something was reckoned with. */
const used = new Set<string>();

/** What the page says of a figure, by its name. */
function figure(name: string): number {
  used.add(name);
  const [, value] = new RegExp(`^\\| \`${name}\` \\| ([\\d,.]+) \\|`, 'm').exec(page) ?? [];
  assert.notEqual(value, undefined, `the page has no ${name}`);
  return Number(value?.replaceAll(',', ''));
}

/** Three digits that count, and no more than the figures have. */
const rounded = (value: number): string => Number(value.toPrecision(value < 1 ? 1 : 2)).toLocaleString('en-GB');

const hosts = figure('hosts');
const streamBytes = figure('stream_bytes');
const leadPosts = figure('alone_posts') * figure('lead_rate');
const leadMicros = figure('alone_cpu') * figure('lead_cpu');

/** What one installation of so many people asks for in its busiest hour, and of its disks. */
function loadOf(people: number) {
  const posts = (people * figure('posts_a_day') * figure('busy_share')) / HOUR_SECONDS;
  const day = people * figure('posts_a_day');
  const year = day * figure('working_days') * figure('disk_bytes');
  return { posts, day, year, sockets: people * figure('devices'), frames: posts * figure('audience') };
}

/** What is so today: one host leads all lanes, and holds every socket and sends every frame, to clients or to those who hand them on. */
function today(people: number): Record<string, number> {
  const { day, frames, posts, sockets, year } = loadOf(people);
  const leads = posts * leadMicros + frames * figure('frame_cpu') + sockets * figure('socket_cpu');
  const follows = posts * leadMicros * (figure('follow_cpu') + figure('hand_cpu') / hosts);
  const stream = Math.max(figure('stream_keeps'), year * figure('stream_share'));
  const copied = day * streamBytes * figure('copied') + (year * WEEK_DAYS) / WORKING_WEEK / figure('copy_age');
  const away = (hosts - 1) / hosts;
  return {
    'posts a second': posts,
    'of what a lead has taken, %': (100 * posts) / leadPosts,
    'sockets, all of them at the lead': sockets,
    'of them handed on by each other host': sockets / hosts,
    'frames a second': frames,
    'cores of the lead': leads / MICROS,
    'cores of each other host, without frames': follows / MICROS,
    'cores of NATS, all three servers': (posts * leadMicros * figure('nats_cpu')) / MICROS,
    'lead to the other hosts, frames, Mbit/s': (frames * away * figure('frame_bytes') * BITS) / MEGA,
    'lead to NATS, Mbit/s': (posts * streamBytes * BITS) / MEGA,
    'NATS to its own and to the hosts, Mbit/s': (posts * streamBytes * (2 + hosts - 1) * BITS) / MEGA,
    'disk of each host after a year, TB': year / TERA,
    'disk of each NATS server after a year, TB': (year * (1 + 1 / figure('lanes')) + stream) / TERA,
    'of it the stream, from which a host comes back without a copy, TB': stream / TERA,
    'copied into NATS a working day after a year, at most, GB': copied / GIGA,
  };
}

/** What would be with lanes spread, sockets served where they are, and three copies of a lane. */
function spread(people: number): Record<string, number> {
  const { day, frames, posts, sockets, year } = loadOf(people);
  const copies = figure('copies');
  const forPosts = Math.ceil(posts / (leadPosts * figure('comfort')));
  const forSockets = Math.ceil(sockets / figure('sockets_a_host'));
  const needed = Math.max(copies, forPosts, forSockets);
  // Where a post is told to the hosts that have somebody of its conversation, and not to all.
  const told = Math.min(needed - 1, figure('audience'));
  return {
    'hosts for the posts': forPosts,
    'hosts for the sockets': forSockets,
    'hosts, then': needed,
    'posts a second of each as a leader of lanes': posts / needed,
    'posts a second that each follows': (posts * (copies - 1)) / needed,
    'frames a second of each': frames / needed,
    'between hosts, a post once to each that it is for, Mbit/s': (posts * figure('frame_bytes') * told * BITS) / MEGA,
    'through the stream, GB a working day': (day * streamBytes) / GIGA,
    'disk of each host after a year, TB': (year * copies) / needed / TERA,
  };
}

/** A table as the page has it. */
function tableOf(rows: (people: number) => Record<string, number>): string {
  const columns = PEOPLE.map(rows);
  const lines = Object.keys(columns[0] as object).map(
    (name) => `| ${[name, ...columns.map((column) => rounded(column[name] as number))].join(' | ')} |`,
  );
  const head = `| people | ${PEOPLE.map((people) => people.toLocaleString('en-GB')).join(' | ')} |`;
  return [head, '| --- | --- | --- | --- |', ...lines].join('\n');
}

test('both tables are what the figures give', () => {
  for (const rows of [today, spread]) {
    const table = tableOf(rows);
    assert.ok(page.includes(table), `the page has not:\n${table}`);
  }
});

test('what the page takes for settings are their defaults', () => {
  assert.equal(figure('stream_keeps'), SETTINGS.clusterStreamBytes.default);
  assert.equal(figure('stream_share'), STREAM_SHARE);
  assert.equal(figure('copy_age') * 24 * HOUR_SECONDS * 1_000, SNAPSHOT_AGE_MILLIS);
});

test('every figure of the page is one that something is reckoned with', () => {
  for (const people of PEOPLE) assert.ok([today(people), spread(people)].every((rows) => Object.keys(rows).length > 0));
  assert.deepEqual(
    [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name).filter((name) => !used.has(name)),
    [],
  );
});
