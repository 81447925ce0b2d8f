/** Words that are names of accounts or of people as well, and mostly are neither where a log has them. */

/** Accounts called like the thing that runs under them, what stands for a person, and what Parley and the redaction speak of. */
const TECHNICAL = new Set(
  'root admin administrator superuser supervisor user users username guest test tester testing system service services daemon nobody operator manager owner member default public private local internal external client server host agent apps application website api proxy gateway router backup deploy build jenkins gitlab github docker kube kubernetes grafana prometheus kafka redis postgres postgresql mysql mariadb oracle mongo mongodb elastic elasticsearch kibana logstash rabbitmq nginx apache httpd tomcat node java python ruby perl cron crond systemd syslog rsyslog sshd sudo login logon logout session audit monitor monitoring nagios zabbix ansible puppet chef vagrant ubuntu debian centos fedora azure amazon google microsoft windows linux unix mail postfix dovecot exim imap smtp sftp samba ldap kerberos radius openvpn firewall network data database master slave replica worker task queue scheduler batch report reports sync upload download file files home info support sales help helpdesk contact office security anonymous unknown none null true false setup update upgrade config maintenance messagebus integration automation robot script pipeline runner machine computer device printer scanner camera phone account accounts name email message messages error warning debug info notice critical success failed failure denied allowed accept accepted reject rejected block blocked open opened close closed start started stop stopped active inactive enabled disabled created deleted updated changed removed added from with this that have been were will http https text json html body subject token password secret'.split(
    ' ',
  ),
);

/** Given names and surnames that every second sentence has as a word: `may not`, `will retry`, `grace period`. */
const ORDINARY = new Set(
  'able bill black booth brook brooks brown buck bush case capability cash chance chase chip church clay cliff close cook cooper cross dale dawn day dean dell dick drew earl east field fields fisher ford forest foster fox frank french gale glen good grace grant gray green grey guy hall hand hart heath hill home hope house hunt hunter jack jean jobs joy just keen king knight lake lamb land lane lead lee light list little long lord love lucky major march mark marks marsh mason master max may miles mill miller min more moss noble north page park parker part parks peak pearl penny pike ping pitt place pool pope porter post potter powers price prince pride queen quick race rand reed rich rob robin rock rod rose rush rusty sage salt sandy savage send shade sharp short silver singer single skip small snow song south space spring star stark steel sterling stone storm street strong summer swift tab terry those tower town travis tree trip turner vance vice wade wait walk walker wall ward warden waters watts weaver webb weeks west white will wise wolf wood woods word work young'.split(
    ' ',
  ),
);

/** Whether it is an account's name and no person's, in either case. */
export function isTechnical(word: string): boolean {
  return TECHNICAL.has(word.toLowerCase());
}

/** Whether it says nothing of a person where it stands alone. */
export function isOrdinary(word: string): boolean {
  return isTechnical(word) || ORDINARY.has(word.toLowerCase());
}
