import type { Waker } from 'sagacity';
import { natsWaker } from 'sagacity/nats';

export const waker: () => Waker = () => natsWaker({ servers: ['nats://127.0.0.1:4222'], replicas: 3, user: 'shop' });
