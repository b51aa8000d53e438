/** `sagacity/nats`: prompt wakes for several processes on one database. */

export { natsWaker, type NatsWaker, type NatsWakerOptions, type NatsWakerState } from './adapters/nats/waker.ts';
