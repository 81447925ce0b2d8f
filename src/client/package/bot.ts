/** What a bot imports from `parley-client/bot`. */
export { Bot } from '../bot/bot.ts';
export { deliveryReceiver } from '../bot/delivery-receiver.ts';
export { verifyDelivery } from '../bot/delivery-signature.ts';
export { outboxFile } from '../bot/outbox-file.ts';
export { ParleyError } from '../parley-error.ts';
export type { BotOptions, CommandHandler, CommandUse, HeardMessage, MessageHandler } from '../bot/bot.ts';
export type { Delivery, DeliveryReceiverOptions } from '../bot/delivery-receiver.ts';
