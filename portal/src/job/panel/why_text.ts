// The reasons of the scheduler as sentences; the same words as `strata job why`.
import type { Json } from '../../api/graphql';
import { at } from '../../ui/time';

type Why = { [key: string]: Json };

function list(names: Json | undefined, more: Json | undefined): string {
  const named = Array.isArray(names) ? names.join(', ') : '';
  return Number(more) > 0 ? `${named} and ${more} more` : named;
}

function messageOf(failure: Json | undefined): string {
  const { message } = (failure ?? {}) as { message?: string };
  return message ?? 'no message';
}

const sentences: Record<string, (why: Why) => string> = {
  completed: () => 'It is done.',
  skipped: ({ how, because }) => `It will not run: ${String(how).replaceAll('_', ' ')}, decided at ${because}.`,
  job_ended: ({ status }) => `It never ran: the job is ${String(status).toLowerCase()}.`,
  failed: ({ failure }) => `It failed for good: ${messageOf(failure)}`,
  waits_for_nodes: ({ nodes, more }) => `It waits for ${list(nodes, more)}.`,
  waits_for_engine: () => 'The engine comes to it with its next step.',
  paused: () => 'The job is paused. Resume it, and it goes on.',
  waits_for_sibling: ({ at_work, max_parallel }) => `It waits for a sibling: ${at_work} of at most ${max_parallel} are at work.`,
  waits_for_window: ({ queue }) => `It is ready; queue ${queue} has no room for it yet.`,
  waits_for_retry: ({ failure, attempt, due }) => `It failed (${messageOf(failure)}); attempt ${attempt} is due at ${at(String(due))}.`,
  waits_for_worker: ({ queue }) => `It is in queue ${queue}, and no worker has taken it. Does one serve that queue?`,
  running: ({ attempt }) => `A worker is at it, attempt ${attempt}.`,
  waits_for_children: ({ completed, total }) => `Its children are at work: ${completed} of ${total} are done.`,
};

export function whyText(why: Why): string {
  const sentence = sentences[String(why.reason)];
  return sentence ? sentence(why) : JSON.stringify(why);
}
