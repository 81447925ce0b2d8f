/**
 * The catalogue of error codes (ERR-01, ERR-02): the one place where a code, its HTTP status and its sentence meet.
 *
 * A code is an identifier that installed clients branch on, and the sentence is what a client without a translation
 * shows. Both stay for ever: never rename a code, never reuse one, never reword a shipped sentence. A code that is no
 * longer sent moves to `RETIRED_CODES`. `docs/errors.json` is the frozen copy; a test compares the two.
 */

import type { SecondFactorAsk } from './sessions/second-factors.ts';

interface ErrorEntry {
  readonly status: 400 | 401 | 403 | 404 | 409 | 410 | 429 | 500 | 503;
  readonly error: string;
}

export const ERRORS = {
  // 400: the request is wrong, or names something unknown. A defect of the client: report it, do not retry.
  attachment_too_large: { status: 400, error: 'The file is larger than an attachment may be.' },
  attachment_type_forbidden: { status: 400, error: 'Files of this type may not be attached here.' },
  avatar_invalid: {
    status: 400,
    error: 'This is no picture that can be shown: take a JPEG, PNG, WebP, GIF or AVIF of 64 megapixels at most.',
  },
  body_invalid_json: { status: 400, error: 'The body is not valid JSON.' },
  body_invalid_utf8: { status: 400, error: 'The body is not valid UTF-8.' },
  body_not_calendar: { status: 400, error: 'The body is not an iCalendar file (text/calendar).' },
  body_not_json: { status: 400, error: 'The body must be sent as application/json.' },
  body_not_mail: { status: 400, error: 'The body must be sent as message/rfc822.' },
  body_too_large: { status: 400, error: 'The body is larger than this request allows.' },
  checksum_mismatch: { status: 400, error: 'The bytes that arrived are not those of the checksum; send them again.' },
  cursor_invalid: { status: 400, error: 'The cursor is not one that this server gave.' },
  device_required: { status: 400, error: 'The query parameter device is missing.' },
  emoji_invalid: {
    status: 400,
    error: 'This is no picture for an emoji: take a JPEG, PNG, WebP, GIF or AVIF, and one that moves with few frames.',
  },
  emoji_unknown: { status: 400, error: 'There is no emoji of this name here.' },
  entry_invalid: { status: 400, error: 'The entry is not one that a calendar can hold.' },
  entry_kind_refused: { status: 400, error: 'The calendar does not take entries of this kind.' },
  entry_too_large: { status: 400, error: 'The entry is larger than one may be.' },
  field_invalid: { status: 400, error: 'A field is missing or has a value that is not allowed.' },
  field_unknown: { status: 400, error: 'The request carries a field that this form does not have.' },
  frame_invalid: { status: 400, error: 'The frame is not one that a client may send.' },
  frame_too_large: { status: 400, error: 'The frame is larger than a frame may be.' },
  header_invalid: { status: 400, error: 'A header is missing or has a value that is not allowed.' },
  logout_token_invalid: { status: 400, error: 'The logout token is not one that this provider gave for this server.' },
  mention_unknown: { status: 400, error: 'A person mentioned does not take part in this conversation.' },
  message_kind_unknown: { status: 400, error: 'The message kind is not known.' },
  participant_unknown: { status: 400, error: 'A person named in the request cannot be added.' },
  passkey_invalid: { status: 400, error: 'This passkey cannot be added; begin anew.' },
  password_names_you: {
    status: 400,
    error: 'This password is little more than a name or an address of its owner; choose another.',
  },
  password_too_common: { status: 400, error: 'This password is among the most common ones; choose another.' },
  password_too_short: { status: 400, error: 'This password is too short; take 8 characters or more.' },
  password_unchanged: { status: 400, error: 'This is the password that you have already; choose another.' },
  query_invalid: { status: 400, error: 'A query parameter is unknown or has a value that is not allowed.' },
  range_invalid: { status: 400, error: 'The range is not one of this file.' },
  request_malformed: { status: 400, error: 'The request could not be read as HTTP.' },
  scim_filter_invalid: { status: 400, error: 'The filter is not one that this server can read, or it is too long.' },
  scim_no_target: { status: 400, error: 'The path leads to nothing that is there.' },
  scim_path_invalid: { status: 400, error: 'The path is not one of this resource.' },
  scim_read_only: { status: 400, error: 'The path leads to what the server alone sets.' },
  scim_too_many: { status: 400, error: 'This would look at more than one request may; filter for less.' },
  search_too_short: {
    status: 400,
    error: 'Search for two characters or more, or for one Chinese, Japanese or Korean one.',
  },
  signal_kind_unknown: { status: 400, error: 'The signalling family is not known.' },
  signal_step_unknown: { status: 400, error: 'The step is not one of its signalling family.' },
  sso_redirect_forbidden: { status: 400, error: 'This is not an address that signing in may lead back to.' },
  socket_upgrade_required: { status: 400, error: 'This path is for WebSocket connections only.' },
  target_private: { status: 400, error: 'The server may not connect to a private address.' },
  tus_version_unknown: { status: 400, error: 'Uploads speak tus 1.0.0: send it as Tus-Resumable.' },
  upload_body_type: { status: 400, error: 'The bytes of an upload must be sent as application/offset+octet-stream.' },
  upload_too_long: { status: 400, error: 'These are more bytes than the upload was announced to have.' },

  // 401: who is asking is not settled. Renew once, retry once.
  app_password_invalid: { status: 401, error: 'The username or the app password is wrong.' },
  attachment_link_invalid: { status: 401, error: 'The link is not valid or has expired; ask for a new one.' },
  bot_token_ended: {
    status: 401,
    error: 'The token ended when a backup was restored; an administrator issues another one.',
  },
  bot_revoked: { status: 401, error: 'The bot was revoked.' },
  login_failed: { status: 401, error: 'The username or the password is wrong.' },
  node_revoked: { status: 401, error: 'The host was revoked; join it again.' },
  response_token_invalid: { status: 401, error: 'The response token is not valid or has expired.' },
  second_factor_required: { status: 401, error: 'The code of the second factor is required.' },
  second_factor_wrong: { status: 401, error: 'The code is wrong or was used already.' },
  refresh_token_missing: { status: 401, error: 'This session is renewed by its refresh token only.' },
  session_cookie_invalid: { status: 401, error: 'There is no cookie of this session; sign in again.' },
  session_over: { status: 401, error: 'The session has ended; sign in again.' },
  session_reused: {
    status: 401,
    error: 'A refresh token was used again after it had been replaced; the session has ended. Sign in again.',
  },
  session_revoked: { status: 401, error: 'The session was revoked; sign in again.' },
  sso_code_invalid: { status: 401, error: 'The code is not valid or was used already; sign in again.' },
  sso_failed: { status: 401, error: 'Signing in at the provider failed; start again.' },
  token_expired: { status: 401, error: 'The token has expired; renew it.' },
  token_invalid: { status: 401, error: 'The token is not valid here.' },
  token_missing: { status: 401, error: 'The request carries no token.' },
  vendor_token_expired: { status: 401, error: 'The vendor token has expired; ask for a new one.' },
  vendor_token_invalid: { status: 401, error: 'The vendor token is not one that this server knows.' },
  vendor_token_revoked: { status: 401, error: 'The vendor token was revoked.' },

  // 403: known, and without the right. An answer, not a failure. One code for not-there and not-yours (ERR-05).
  answer_forbidden: { status: 403, error: 'You may answer an invitation only for yourself.' },
  proposal_forbidden: { status: 403, error: 'Another time cannot be proposed for this entry.' },
  calendar_read_only: { status: 403, error: 'The calendar follows a feed; its entries are not changed here.' },
  conversation_forbidden: { status: 403, error: 'There is no such conversation for you.' },
  device_forbidden: { status: 403, error: 'The device is not the one this session belongs to.' },
  field_managed: { status: 403, error: 'This is kept for you by the organisation; ask an administrator.' },
  forward_forbidden: { status: 403, error: 'There is no such message that you could forward.' },
  invitation_change_forbidden: {
    status: 403,
    error: 'Only who organises it changes when it is, its title and its place.',
  },
  master_key_wrong: { status: 403, error: 'This is not the master key.' },
  meeting_forbidden: { status: 403, error: 'This meeting is not open to you.' },
  node_role_forbidden: { status: 403, error: 'The host was not given that role.' },
  organizer_forbidden: { status: 403, error: 'You may organise entries only as yourself.' },
  owner_binds_own_account: { status: 403, error: 'The account of an owner is bound by that owner alone.' },
  email_code_wrong: { status: 403, error: 'This code is wrong or over; have another one mailed.' },
  owner_reset_on_host: {
    status: 403,
    error: 'The password of an owner is reset on the host of the server, by the command parley owner reset.',
  },
  origin_forbidden: { status: 403, error: 'Pages of this origin may not connect here.' },
  password_at_provider: {
    status: 403,
    error: 'Your password is kept at the identity provider; change it there.',
  },
  password_wrong: { status: 403, error: 'The current password is wrong.' },
  person_forbidden: { status: 403, error: 'There is no such person for you.' },
  quota_exceeded: { status: 403, error: 'The quota that the field names is used up.' },
  reauthentication_missing: {
    status: 403,
    error: 'The provider did not ask for your sign-in again; sign in there anew.',
  },
  recipient_forbidden: { status: 403, error: 'There is no such recipient for you.' },
  recovery_failed: { status: 403, error: 'The code is wrong or no longer valid.' },
  right_missing: { status: 403, error: 'You do not have the right to do this here.' },
  role_above_own: { status: 403, error: 'You may not give a role above your own.' },
  sign_in_by_identity: { status: 403, error: 'Passwords do not sign in here; sign in at the identity provider.' },
  sso_not_bound: {
    status: 403,
    error:
      'This account of the provider is bound to nobody here; sign in by password and bind it, or ask an administrator.',
  },
  proof_required: { status: 403, error: 'Prove first that it is you, or sign in again.' },
  proof_wrong: { status: 403, error: 'This proves nothing: it is wrong, or was used already.' },
  step_up_at_provider: { status: 403, error: 'This session gives its second factor at the identity provider.' },
  step_up_required: { status: 403, error: 'This takes the second factor again.' },
  system_kind_forbidden: { status: 403, error: 'System messages are written by the server only.' },
  two_factor_enrollment_required: { status: 403, error: 'Set up the second factor first.' },
  vendor_token_forbidden: { status: 403, error: 'A vendor token does not open this.' },

  // 404: no such thing, or none for this caller.
  app_password_not_found: { status: 404, error: 'There is no such app password.' },
  ask_not_found: { status: 404, error: 'There is no such open ask for this node.' },
  attachment_not_found: { status: 404, error: 'There is no such attachment for you.' },
  automation_not_found: { status: 404, error: 'There is no such automation.' },
  avatar_not_found: { status: 404, error: 'There is no such picture for you.' },
  bot_not_found: { status: 404, error: 'There is no such bot.' },
  calendar_not_found: { status: 404, error: 'There is no such calendar for you.' },
  calendar_subscription_not_found: { status: 404, error: 'This calendar follows no feed.' },
  client_release_not_found: { status: 404, error: 'No release was announced for this platform.' },
  call_not_found: { status: 404, error: 'There is no such call for you.' },
  command_not_found: { status: 404, error: 'No bot offers this command here.' },
  deployment_not_found: { status: 404, error: 'There is no such deployment.' },
  draft_not_found: { status: 404, error: 'There is no draft here.' },
  emoji_not_found: { status: 404, error: 'There is no such emoji.' },
  entry_not_found: { status: 404, error: 'There is no such entry in this calendar.' },
  feed_not_found: { status: 404, error: 'There is no such feed.' },
  erasure_not_found: { status: 404, error: 'There is no such erasure.' },
  rsvp_link_not_found: { status: 404, error: 'This link does not take an answer, or not any more.' },
  group_not_found: { status: 404, error: 'There is no such group.' },
  resource_not_found: { status: 404, error: 'There is no such room or resource.' },
  guest_not_found: { status: 404, error: 'There is no such guest.' },
  room_link_not_found: { status: 404, error: 'There is no such link for you.' },
  invitation_not_found: { status: 404, error: 'There is no such invitation for you.' },
  proposal_not_found: { status: 404, error: 'There is no such proposal for you, or not any more.' },
  meeting_not_found: { status: 404, error: 'There is no such meeting for you.' },
  message_not_found: { status: 404, error: 'There is no such message.' },
  method_not_found: { status: 404, error: 'This path does not have that method.' },
  node_not_found: { status: 404, error: 'There is no such node.' },
  participant_not_found: { status: 404, error: 'There is no such participant.' },
  path_not_found: { status: 404, error: 'There is no such path.' },
  person_not_found: { status: 404, error: 'There is no such person.' },
  policy_not_found: { status: 404, error: 'There is no such policy.' },
  scim_client_not_found: { status: 404, error: 'There is no such client that provisions people.' },
  scim_not_supported: { status: 404, error: 'This part of SCIM is not supported here.' },
  search_disabled: { status: 404, error: 'Search is switched off on this server.' },
  second_factor_not_found: { status: 404, error: 'This account has no second factor.' },
  sso_provider_not_found: { status: 404, error: 'There is no such provider to sign in at.' },
  sso_identity_not_found: { status: 404, error: 'This username belongs to no account of the provider.' },
  sso_not_set: { status: 404, error: 'Sign-in at a provider is not set up.' },
  subscription_not_found: { status: 404, error: 'There is no such subscription.' },
  thumbnail_not_found: { status: 404, error: 'There is no thumbnail of this attachment.' },
  user_session_not_found: { status: 404, error: 'This person has no such session.' },
  vendor_token_not_found: { status: 404, error: 'There is no such vendor token.' },
  webhook_not_found: { status: 404, error: 'There is no such webhook.' },

  // 409: the state of things forbids it. Resolve and retry.
  proposal_outdated: { status: 409, error: 'The entry has changed since, or does not take place.' },
  app_passwords_full: { status: 409, error: 'You have as many app passwords as you may; revoke one first.' },
  attachment_in_use: { status: 409, error: 'A message has this attachment; delete the message instead.' },
  attachment_infected: { status: 409, error: 'The virus scanner found something in this file; it was removed.' },
  attachment_unfinished: { status: 409, error: 'The upload of this attachment is not finished yet.' },
  automations_full: { status: 409, error: 'The installation has as many automations as it may have.' },
  bot_name_taken: { status: 409, error: 'A bot or a person of that name exists already.' },
  bot_not_active: { status: 409, error: 'The bot was revoked already.' },
  bots_full: { status: 409, error: 'The installation has as many bots as it may have.' },
  calendar_has_meetings: {
    status: 409,
    error: 'People are invited to meetings in this calendar: say with notify whether they are told.',
  },
  calendar_full: { status: 409, error: 'The calendar has as many entries as it may have.' },
  calendar_name_taken: { status: 409, error: 'A calendar of that name exists already.' },
  calendar_subscriptions_full: { status: 409, error: 'You follow as many feeds as one person may.' },
  calendars_full: { status: 409, error: 'There are as many calendars as one person may have.' },
  call_already_joined: { status: 409, error: 'This call attempt was already joined.' },
  call_already_started: { status: 409, error: 'This call attempt has begun already; invite by another one.' },
  call_full: { status: 409, error: 'The call has as many people as it may have.' },
  call_id_taken: { status: 409, error: 'Another call has this id; begin under another one.' },
  call_not_joined: { status: 409, error: 'This device is not in the call.' },
  call_outcome_contradicts: { status: 409, error: 'The outcome is not what became of the call.' },
  call_outcome_posted: { status: 409, error: 'You have posted another outcome of this call already.' },
  call_over: { status: 409, error: 'The call is over.' },
  call_transfer_pending: { status: 409, error: 'A transfer of this call waits for its answer already.' },
  calls_full: { status: 409, error: 'There are as many calls here as there may be at once.' },
  command_ambiguous: { status: 409, error: 'Several bots offer this command here; name the bot.' },
  conversation_archived: {
    status: 409,
    error: 'The room is archived; nothing is added to it until it is brought back.',
  },
  conversation_full: { status: 409, error: 'The conversation has as many participants as it may have.' },
  conversation_held: { status: 409, error: 'The conversation is under a legal hold; nothing may be purged.' },
  emoji_full: { status: 409, error: 'The installation has as many emoji of its own as it may have.' },
  emoji_taken: { status: 409, error: 'An emoji of that name exists already.' },
  encryption_off: { status: 409, error: 'Encryption at rest is off.' },
  encryption_on: { status: 409, error: 'Encryption at rest is on already.' },
  entry_changed: { status: 409, error: 'The entry was changed by somebody else; read it again.' },
  entry_uid_taken: { status: 409, error: 'The calendar has another entry with this UID.' },
  feeds_full: { status: 409, error: 'The calendar has as many feeds as it may have.' },
  group_full: { status: 409, error: 'The group has as many members as it may have.' },
  group_in_use: { status: 409, error: 'A policy names this group; change the policy first.' },
  email_missing: { status: 409, error: 'Your account has no e-mail address; an administrator gives it one.' },
  mail_unavailable: { status: 409, error: 'This installation sends no mail.' },
  group_name_taken: { status: 409, error: 'A group of that name exists already.' },
  groups_full: { status: 409, error: 'The installation has as many groups as it may have.' },
  guests_full: { status: 409, error: 'You have as many guests as you may; end the term of one first.' },
  resources_full: { status: 409, error: 'The installation has as many rooms and resources as it may have.' },
  invitation_declined: { status: 409, error: 'This person declined your invitation to this room; ask later.' },
  invitations_full: { status: 409, error: 'As many invitations wait here as may; some have to be answered first.' },
  last_owner_required: { status: 409, error: 'The installation cannot be left without an owner.' },
  room_links_full: { status: 409, error: 'The room has as many links as it may have; take one away first.' },
  meeting_full: { status: 409, error: 'The meeting has as many people as it may have.' },
  meeting_over: { status: 409, error: 'The meeting was cancelled.' },
  meetings_full: { status: 409, error: 'You host as many meetings as you may.' },
  message_deleted: { status: 409, error: 'The message was deleted.' },
  message_removed: { status: 409, error: 'The message was posted, and has been removed since.' },
  node_name_taken: { status: 409, error: 'A node of that name exists already.' },
  nodes_full: { status: 409, error: 'The installation has as many nodes as it may have.' },
  owner_required: { status: 409, error: 'A conversation cannot be left without an owner.' },
  participants_fixed: { status: 409, error: 'The participants of this conversation do not change.' },
  person_left: { status: 409, error: 'The person has left; their account stays closed.' },
  phone_taken: { status: 409, error: 'A guest with this phone number exists already.' },
  pins_full: { status: 409, error: 'The conversation has as many pins as it may have.' },
  retention_shortens: {
    status: 409,
    error: 'A shorter time is confirmed and waits a day: PUT /admin/api/retention/shortening.',
  },
  policies_full: { status: 409, error: 'The installation has as many policies as it may have.' },
  properties_too_large: { status: 409, error: 'The properties take more space than they may.' },
  reactions_full: { status: 409, error: 'The message has as many different reactions as it may have.' },
  receipt_beyond_head: { status: 409, error: 'The receipt names a message that does not exist yet.' },
  scim_clients_full: { status: 409, error: 'There are as many clients that provision people as there may be.' },
  scim_people_full: { status: 409, error: 'The client has as many people as its owner lets it have.' },
  scim_person_kept: { status: 409, error: 'A client provisions this person already.' },
  scim_version_mismatch: { status: 409, error: 'The resource was changed since; read it again.' },
  passkeys_full: { status: 409, error: 'You have as many passkeys as one person may have.' },
  passkeys_unavailable: {
    status: 409,
    error: 'This server has no public name with https that a passkey could be bound to.',
  },
  second_factor_enrolled: { status: 409, error: 'This account has a second factor already.' },
  second_factor_last: { status: 409, error: 'You need a second factor here, and this is the only one you have.' },
  second_factor_setup_missing: { status: 409, error: 'No set-up of a second factor is under way; begin anew.' },
  setting_incomplete: { status: 409, error: 'This settings screen is not filled in yet.' },
  shares_full: { status: 409, error: 'The calendar is shared with as many people as it may be.' },
  signal_out_of_order: { status: 409, error: 'A later step of this call attempt was already delivered.' },
  sso_identity_taken: { status: 409, error: 'This account of the provider is bound to somebody else.' },
  sso_in_use: { status: 409, error: 'People sign in at the identity provider; change the sign-in mode first.' },
  sso_providers_full: { status: 409, error: 'There are as many providers as there may be.' },
  room_owned: { status: 409, error: 'Somebody who may come owns the room.' },
  sso_owner_required: { status: 409, error: 'An owner has to sign in at the provider first, as it is set up now.' },
  sync_cursor_expired: { status: 409, error: 'The cursor is too old; read everything again.' },
  subscriptions_full: { status: 409, error: 'The bot has as many subscriptions as it may have.' },
  upload_busy: { status: 409, error: 'Another request is writing this upload; try again shortly.' },
  upload_complete: { status: 409, error: 'The upload is complete already.' },
  upload_offset_wrong: { status: 409, error: 'The upload is not at this offset; ask for it and go on from there.' },
  uploads_full: { status: 409, error: 'Too many of your uploads wait to be posted; post or discard some first.' },
  username_taken: { status: 409, error: 'The username is taken.' },
  vendor_token_not_active: { status: 409, error: 'The vendor token was revoked or has expired already.' },
  webhooks_full: { status: 409, error: 'There are as many webhooks as there may be.' },

  // 410: this is gone. Where a form is, the sentence names what to use.
  call_step_is_signalling: {
    status: 410,
    error: 'Call steps are not messages: send them to POST /v1/signal.',
  },
  client_too_old: { status: 410, error: 'This version of the app is no longer served; install the current one.' },
  sign_in_over: { status: 410, error: 'This sign-in took too long or was finished already; begin anew.' },
  invitation_used: { status: 410, error: 'This invitation was used or has expired; ask for a new one.' },
  reset_link_used: { status: 410, error: 'This link was used or has expired; ask for a new one.' },
  join_token_used: { status: 410, error: 'This join token was used or has expired; make a new join command.' },

  // 429: slow down; the socket is unaffected (ERR-06).
  asks_full: { status: 429, error: 'The node has as many open asks as it may have; wait and try again.' },
  bot_conversation_limited: {
    status: 429,
    error: 'The bot says too much in this conversation; wait and try again.',
  },
  rate_limited: { status: 429, error: 'Too many requests; wait and try again.' },

  // 500 and 503: faults of the server. 503 carries Retry-After.
  busy: { status: 503, error: 'The server is busy; try again shortly.' },
  directory_unavailable: { status: 503, error: 'The directory server cannot be reached right now.' },
  encryption_locked: { status: 503, error: 'Encryption at rest is locked; an owner has to unlock it.' },
  internal: { status: 500, error: 'Something failed inside the server.' },
  object_store_unavailable: {
    status: 503,
    error: 'The file lies in a store that cannot be reached right now; try again shortly.',
  },
  redaction_unavailable: {
    status: 503,
    error: 'The answer could not be de-personalised, so it is not sent; try again shortly.',
  },
  sso_provider_unavailable: { status: 503, error: 'The identity provider cannot be reached right now.' },
  storage_damaged: {
    status: 503,
    error: 'What is stored of this cannot be read; an administrator has to restore it.',
  },
  storage_full: { status: 503, error: 'The server cannot store anything right now.' },
  unavailable: { status: 503, error: 'This part of the server is restarting; try again shortly.' },
  virus_scan_unavailable: {
    status: 503,
    error: 'The file could not be checked for viruses right now; try again shortly.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** Codes that were sent once and never will be again. They stay listed so that nobody takes the name. */
export const RETIRED_CODES = ['message_purged', 'read_by_hidden'] as const satisfies readonly string[];

/** What a caller reads: `{code, error}`, and `field` where one field of the request is to blame. */
export interface ErrorBody {
  readonly code: string;
  readonly error: string;
  readonly field?: string;
  /** Of a quota that is used up: how much it is. */
  readonly limit?: number;
  /** Of a sign-in that lacks its second factor: how it goes on. */
  readonly second_factor?: SecondFactorAsk;
}

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

export function statusOf(code: ErrorCode): ErrorEntry['status'] {
  return ERRORS[code].status;
}

/** The error body of a code, as it goes on the wire. */
export function errorBody(code: ErrorCode, field?: string, limit?: number, ask?: SecondFactorAsk): ErrorBody {
  return {
    code,
    error: ERRORS[code].error,
    ...(field === undefined ? {} : { field }),
    ...(limit === undefined ? {} : { limit }),
    ...(ask === undefined ? {} : { second_factor: ask }),
  };
}

/**
 * An expected "no": thrown at the edges, a value inside the actors. It carries what the caller may read and nothing
 * else; a fault of the server is an ordinary Error and reads as `internal`. It has no stack: its code says what was refused, and
 * taking one is dearer than most of a request that is refused.
 */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** Of a quota that is used up: how much it is. */
  readonly limit: number | undefined;
  /** Of a sign-in that lacks its second factor: how it goes on. */
  readonly secondFactor: SecondFactorAsk | undefined;
  /** Whole seconds after which a retry makes sense; sent as Retry-After. */
  readonly retryAfter: number | undefined;
  /** Whether the answer waits: its caller was told already, and goes on as fast as it is answered. */
  readonly isHeld: boolean;

  constructor(
    code: ErrorCode,
    options: {
      field?: string | undefined;
      limit?: number | undefined;
      secondFactor?: SecondFactorAsk | undefined;
      retryAfter?: number | undefined;
      isHeld?: boolean;
    } = {},
  ) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(code);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Refusal';
    this.code = code;
    this.field = options.field;
    this.limit = options.limit;
    this.secondFactor = options.secondFactor;
    this.isHeld = options.isHeld ?? false;
    this.retryAfter = options.retryAfter ?? (ERRORS[code].status === 503 ? 1 : undefined);
  }
}
