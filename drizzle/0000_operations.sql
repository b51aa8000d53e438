CREATE SCHEMA IF NOT EXISTS "sagacity";
--> statement-breakpoint
CREATE TABLE "sagacity"."attempt" (
	"tenant" text NOT NULL,
	"subject" text NOT NULL,
	"revision" bigint NOT NULL,
	"n" integer NOT NULL,
	"kind" text NOT NULL,
	"number" integer,
	"at" timestamp with time zone NOT NULL,
	"body" jsonb NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "sagacity"."attempt_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	CONSTRAINT "attempt_pk" PRIMARY KEY("tenant","subject","revision","n")
);
--> statement-breakpoint
CREATE TABLE "sagacity"."handover" (
	"tenant" text NOT NULL,
	"aggregate" text NOT NULL,
	"id" text NOT NULL,
	"body" jsonb NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "sagacity"."handover_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	CONSTRAINT "handover_pk" PRIMARY KEY("tenant","aggregate","id")
);
--> statement-breakpoint
CREATE TABLE "sagacity"."lock" (
	"tenant" text NOT NULL,
	"resource" text NOT NULL,
	"saga" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	CONSTRAINT "lock_pk" PRIMARY KEY("resource","tenant")
);
--> statement-breakpoint
CREATE TABLE "sagacity"."migration" (
	"number" integer PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"checksum" text NOT NULL,
	"applied_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sagacity"."operation" (
	"tenant" text NOT NULL,
	"id" text NOT NULL,
	"saga" text,
	"saga_revision" bigint,
	"saga_n" integer,
	"action" text NOT NULL,
	"key" text NOT NULL,
	"provider_key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"owner" text,
	"generation" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"turn" text NOT NULL,
	"born" text NOT NULL,
	"state" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"due_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	"first_started_at" timestamp with time zone,
	"send_by" timestamp with time zone,
	"window_ends_at" timestamp with time zone,
	"reason" text,
	"contradicted_at" timestamp with time zone,
	"doubted_at" timestamp with time zone,
	"input" jsonb NOT NULL,
	"format" smallint NOT NULL,
	"snapshot" jsonb NOT NULL,
	"output" jsonb,
	CONSTRAINT "operation_pk" PRIMARY KEY("id","tenant"),
	CONSTRAINT "operation_identity" UNIQUE("key","action","tenant")
);
--> statement-breakpoint
CREATE TABLE "sagacity"."saga" (
	"tenant" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"key" text NOT NULL,
	"version" integer NOT NULL,
	"hash" text NOT NULL,
	"fingerprint" text NOT NULL,
	"owner" text,
	"generation" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"turn" text NOT NULL,
	"born" text NOT NULL,
	"state" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"due_at" timestamp with time zone,
	"dues" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"reason" text,
	"input" jsonb NOT NULL,
	"format" smallint NOT NULL,
	"snapshot" jsonb NOT NULL,
	"output" jsonb,
	CONSTRAINT "saga_pk" PRIMARY KEY("id","tenant"),
	CONSTRAINT "saga_identity" UNIQUE("key","name","tenant")
);
--> statement-breakpoint
CREATE TABLE "sagacity"."signal" (
	"tenant" text NOT NULL,
	"saga" text NOT NULL,
	"name" text NOT NULL,
	"event_id" text NOT NULL,
	"fingerprint" text NOT NULL,
	"state" text NOT NULL,
	"why" text,
	"at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "signal_pk" PRIMARY KEY("saga","event_id","name","tenant")
);
--> statement-breakpoint
CREATE TABLE "sagacity"."timeline" (
	"id" text PRIMARY KEY NOT NULL,
	"seen_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sagacity"."worker" (
	"id" text PRIMARY KEY NOT NULL,
	"beat_at" timestamp with time zone NOT NULL,
	"dead_at" timestamp with time zone
);
--> statement-breakpoint
CREATE INDEX "lock_saga" ON "sagacity"."lock" USING btree ("saga","tenant");--> statement-breakpoint
CREATE INDEX "operation_due" ON "sagacity"."operation" USING btree ("due_at","tenant","id") WHERE "sagacity"."operation"."owner" is null and "sagacity"."operation"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "operation_turn" ON "sagacity"."operation" USING btree ("tenant","due_at","id","format") WHERE "sagacity"."operation"."owner" is null and "sagacity"."operation"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "operation_owner" ON "sagacity"."operation" USING btree ("owner") WHERE "sagacity"."operation"."owner" is not null;--> statement-breakpoint
CREATE INDEX "operation_doubt" ON "sagacity"."operation" USING btree ("doubted_at","tenant","id") WHERE "sagacity"."operation"."state" in ('unknown', 'reconciling', 'escalated') or "sagacity"."operation"."contradicted_at" is not null;--> statement-breakpoint
CREATE INDEX "operation_settled" ON "sagacity"."operation" USING btree ("since","tenant","id") WHERE "sagacity"."operation"."state" in ('succeeded', 'failed', 'compensated');--> statement-breakpoint
CREATE INDEX "operation_saga" ON "sagacity"."operation" USING btree ("saga","tenant") WHERE "sagacity"."operation"."saga" is not null;--> statement-breakpoint
CREATE INDEX "saga_due" ON "sagacity"."saga" USING btree ("due_at","tenant","id") WHERE "sagacity"."saga"."owner" is null and "sagacity"."saga"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "saga_turn" ON "sagacity"."saga" USING btree ("tenant","due_at","id","format") WHERE "sagacity"."saga"."owner" is null and "sagacity"."saga"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "saga_owner" ON "sagacity"."saga" USING btree ("owner") WHERE "sagacity"."saga"."owner" is not null;--> statement-breakpoint
CREATE INDEX "saga_in_flight" ON "sagacity"."saga" USING btree ("name","version","tenant","id") WHERE "sagacity"."saga"."state" in ('in-progress', 'waiting', 'compensating', 'escalated');--> statement-breakpoint
CREATE INDEX "saga_escalated" ON "sagacity"."saga" USING btree ("since","tenant","id") WHERE "sagacity"."saga"."state" = 'escalated';--> statement-breakpoint
CREATE INDEX "worker_living" ON "sagacity"."worker" USING btree ("id") WHERE "sagacity"."worker"."dead_at" is null;
--> statement-breakpoint
-- Written by hand: the history is append-only, whoever connects.
CREATE FUNCTION "sagacity"."refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'The history in %.% is append-only: % is refused.', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
		USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER "attempt_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "sagacity"."attempt"
	FOR EACH STATEMENT EXECUTE FUNCTION "sagacity"."refuse_change"();
--> statement-breakpoint
-- Written by hand: the timeline that the tables are made on, so that a fail-over that loses the first worker is one.
INSERT INTO "sagacity"."timeline" ("id", "seen_at")
	SELECT
		coalesce(
			nullif(current_setting('sagacity.timeline', true), ''),
			(pg_control_system()).system_identifier::text || '-' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
		),
		now()
	ON CONFLICT ("id") DO NOTHING;
