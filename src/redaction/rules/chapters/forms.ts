/** How programs write a value behind its key: the signs between them, and what stands around the value. */
import type { Row, SignRow, WrapperRow } from '../rows.ts';

function wrapper(pattern: string, go: string, ...more: string[]): WrapperRow {
  return { kind: 'wrapper', pattern, go: [go, ...more] };
}

function sign(pattern: string, before: string, go: readonly string[], stay: readonly string[] = []): SignRow {
  return { kind: 'sign', sign: pattern, before, go, stay };
}

const SIGNS: readonly Row[] = [
  // Scala's maps, and changes of a configuration.
  sign(
    String.raw`["'\x60]? {1,8}-> `,
    '',
    ['Map(password -> «osvuh», user -> «kalomi.ren»)', 'config changed: password -> «osvuh», pool -> 5'],
    ['see token -> ', 'edge a -> b'],
  ),
  // PHP's serialisation, which counts the bytes of a string.
  sign(
    '";s:\\d{1,9}:(?=")',
    's:\\d{1,9}:"$',
    ['a:2:{s:8:"username";s:6:"«kalomi»";s:8:"password";s:9:"«os vuh 77»";}'],
    ['s:5:"count";s:1:"5";'],
  ),
  // Keywords of Clojure and of EDN.
  sign(
    ' {1,8}(?=")',
    '(?:^|[\\s{(,]):$',
    ['{:api-key "«os vuh»", :port 5, :sender "«kalomi»"}'],
    ['{:status "done", :port 5}', 'count "x"'],
  ),
  // Pairs of Lisp.
  sign(' \\. (?=")', '\\($', ['((user . "«kalomi»") (password . "«os vuh»") (port . 5))'], ['((topic . "a b"))']),
  // Keys of Erlang that are binaries.
  sign('">> ?=> ?', '<<"$', ['#{<<"password">> => <<"«os vuh»">>,<<"user">> => <<"«kalomi»">>}']),
  // A record of psql over several lines.
  sign(' {1,40}\\| ', '^$', ['-[ RECORD 1 ]\npassword | «osvuh77»\nuser     | «kalomi»\nn        | 5']),
];

const WRAPPERS: readonly Row[] = [
  wrapper('Some\\(', 'Form { user: Some(«kalomi»), n: 5 }'),
  wrapper('Just ', 'Form {user = Just "«kalomi»", n = 5}'),
  wrapper('Optional\\[', 'Form(user=Optional[«kalomi»], n=5)'),
  wrapper('Optional\\.of\\(', 'user=Optional.of(«kalomi») n=5'),
  wrapper('\\(string\\) ', 'user: (string) "«kalomi»"', 'password: (string) (len=5) "«osvuh»"'),
  wrapper('(?:\\(string\\) )?\\(len=\\d{1,9}\\) ', 'password: (string) (len=5) "«osvuh»"'),
  wrapper(
    'string\\(\\d{1,9}\\) ',
    '["password"]=> string(9) "«os vuh 77»"',
    '  ["password"]=>\n  string(9) "«os vuh 77»"',
  ),
  wrapper('!!?[a-z]{1,16} ', 'password: !!str "«os vuh»"'),
  wrapper('&[\\w-]{1,32} ', 'password: &pw "«os vuh»"'),
  wrapper('<!\\[CDATA\\[', 'password = <![CDATA[«os vuh»]]>'),
  // A binary of Erlang.
  wrapper('<<(?=")', '[{password,<<"«os vuh»">>},{user,<<"«kalomi»">>}]', '#{user => <<"«kalomi»">>,n => 5}'),
  // A call with the value: `PASSWORD('…')`, `Secret("…")`, `Optional("…")`.
  wrapper(
    '(?:new )?[A-Za-z_][\\w.]{0,31}\\((?=[bu]?["\'])',
    "password = MD5('«osvuh»')",
    'State(user: Optional("«kalomi»"), n: 5)',
  ),
];

export const FORMS: readonly Row[] = [...SIGNS, ...WRAPPERS];
