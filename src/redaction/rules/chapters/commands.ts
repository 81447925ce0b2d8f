/** Options of programs whose value is a person or a secret, as sudo, cron and auditd write command lines down. */
import type { OptionRow, Row } from '../rows.ts';

const MYSQL = 'mysql\\w{0,16}|mariadb[\\w-]{0,16}';

function option(
  name: string,
  programs: string,
  optionClass: OptionRow['class'],
  go: string,
  stay: string,
  glue?: OptionRow['glue'],
): OptionRow {
  return {
    kind: 'option',
    option: name,
    programs,
    class: optionClass,
    go: [go],
    stay: [stay],
    ...(glue === undefined ? {} : { glue }),
  };
}

function flag(name: string, programs: string, stay: string): OptionRow {
  return { kind: 'option', option: name, programs, class: 'flag', go: [], stay: [stay] };
}

export const COMMANDS: readonly Row[] = [
  option(
    'u',
    'curl|wget|http',
    'login',
    'COMMAND=/usr/bin/curl -u «kalomi:osvuh1» https://h/',
    'COMMAND=/usr/bin/sort -u names',
  ),
  option(
    'u',
    `${MYSQL}|(?:docker|podman) login|mosquitto_\\w{1,16}|sudo|runuser`,
    'user',
    'run mysql -u «kalomi.ren» chat',
    'run less -u notes',
  ),
  option(
    'U',
    'psql|pg_\\w{1,16}|createdb|dropdb|smbclient|rpcclient|net',
    'user',
    'run psql -U «kalomi.ren» chat',
    'run grep -U notes',
  ),
  flag(
    'user',
    'systemctl|journalctl|loginctl|busctl|systemd-\\w{1,16}|pip[\\d.]{0,5}|gem|flatpak',
    'systemctl --user start chat.service',
  ),
  flag('login', 'bash|sh|zsh|ksh|fish|su|sudo', 'bash --login script'),
  flag('p', 'ssh|scp|sftp|mkdir|cp|nmap', 'sshpass -f file ssh -p 2222 host'),
  option('u', 'curl|wget|http', 'login', 'run curl -u«kalomi:osvuh1» https://h/', 'run sort -unames', 'glued'),
  option('b', 'curl', 'cookie', "run curl -b '«sid=osvuh1»' https://h/", 'run diff -b one two'),
  option(
    'p',
    `mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|sshpass`,
    'secret',
    'run mysql -p«osvuh1» -e x',
    'run ssh -p2222 host',
    'glued',
  ),
  option('p', '(?:docker|podman) login|sshpass', 'secret', 'run sshpass -p «osvuh1» ssh host', 'run ssh -p 2222 host'),
  option('P', 'mosquitto_\\w{1,16}', 'secret', 'run mosquitto_sub -P «osvuh1» -t x', 'run cp -P one two', 'both'),
  option(
    'w',
    'ldap(?:search|modify|add|delete|whoami|passwd|compare)',
    'secret',
    'run ldapsearch -x -w «osvuh1» -b dc=x',
    'run wc -w names',
    'both',
  ),
  option('a', 'redis-cli', 'secret', 'run redis-cli -a «osvuh1» ping', 'run ls -a files', 'both'),
  option('A', 'redis-cli', 'secret', 'run redis-cli -A «osvuh1» ping', 'run grep -A 5 notes', 'both'),
  option(
    'oauth2-bearer',
    'curl',
    'secret',
    'run curl --oauth2-bearer «osvuh1» https://h/',
    'run tool --oauth2-bearer flow',
  ),
];
