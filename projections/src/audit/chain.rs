//! Ranges in their order: batches, the tree, and checkpoints.

use std::collections::{BTreeMap, HashMap, VecDeque};

use domain::event::checkpoint::Signed;
use domain::event::tree::{Compact, Place};
use domain::event::{BatchHasher, Hash};
use uuid::Uuid;

use super::chunk::{BLOCK, Chunk};
use super::finding::{Finding, What};
use super::{Options, Start};
use crate::store::audit::{BatchRow, Head};

/// Everything before some position.
pub(super) struct Chain {
    /// Up to the last whole block, or wherever reading began.
    tree: Compact,
    /// Leaves after that.
    rest: Vec<Hash>,
    hash: Hash,
    recorded_at_micros: i64,
    open: Option<Open>,
    waiting: VecDeque<BatchRow>,
    known: BTreeMap<u64, Vec<Signed>>,
    incarnation: Uuid,
    /// Positions of a kept subtree that is not that of its events. The next checkpoint tells which of both is
    /// wrong.
    suspect: Option<(u64, u64)>,
    loose: Option<Finding>,
    pub(super) events: u64,
    pub(super) batches: u64,
    pub(super) checkpoints: u64,
    pub(super) streams: u64,
    pub(super) vouched: u64,
}

/// A batch that is being read.
struct Open {
    row: BatchRow,
    hasher: BatchHasher,
    recorded_at_micros: i64,
}

impl Chain {
    pub(super) fn new(start: Start, head: &Head, options: &Options) -> Self {
        let mut known: BTreeMap<u64, Vec<Signed>> = BTreeMap::new();
        for signed in &options.known {
            let size = signed.checkpoint.size;
            known.entry(size).or_default().push(signed.clone());
        }
        Self {
            vouched: if start.is_signed { start.size } else { 0 },
            tree: start.tree,
            rest: Vec::new(),
            hash: start.chain,
            recorded_at_micros: start.recorded_at_micros,
            open: start.open.map(|(row, hasher)| Open {
                recorded_at_micros: row.recorded_at.timestamp_micros(),
                row,
                hasher,
            }),
            waiting: VecDeque::new(),
            known,
            incarnation: head.incarnation,
            suspect: None,
            loose: None,
            events: 0,
            batches: 0,
            checkpoints: 0,
            streams: 0,
        }
    }

    fn size(&self) -> u64 {
        self.tree.size() + self.rest.len() as u64
    }

    /// The next range.
    pub(super) fn take(&mut self, chunk: Chunk) -> Option<Finding> {
        debug_assert_eq!(chunk.first, self.size() + 1, "ranges come in order");
        self.waiting.extend(chunk.batches);
        self.streams += chunk.streams;
        self.loose = self.loose.take().or(chunk.loose);
        let mut notes: HashMap<u64, Result<Signed, String>> =
            chunk.checkpoints.into_iter().collect();
        for (leaf, micros) in chunk.leaves {
            let pos = self.size() + 1;
            // What is wrong with this very position says more than that its batch does not fit.
            if let Some(finding) = chunk.finding.as_ref().filter(|f| f.pos <= pos) {
                return Some(finding.clone());
            }
            self.rest.push(leaf);
            self.events += 1;
            if let Some(finding) = self.chained(pos, &leaf, micros) {
                return Some(self.narrowed(finding));
            }
            if let Some(note) = notes.remove(&pos)
                && let Some(finding) = self.noted(pos, note)
            {
                return Some(finding);
            }
            for signed in self.known.remove(&pos).unwrap_or_default() {
                if let Some(finding) = self.signed(pos, &signed) {
                    return Some(finding);
                }
            }
            self.settle(&chunk.blocks, &chunk.higher);
        }
        chunk.finding
    }

    /// Batches: from position to position, each with the hash of the one before.
    fn chained(&mut self, pos: u64, leaf: &Hash, micros: i64) -> Option<Finding> {
        if self.open.is_none() {
            let found = self.begin(pos);
            if found.is_some() {
                return found;
            }
        }
        let open = self.open.as_mut()?;
        let (first, last) = (unsigned(open.row.first_pos), unsigned(open.row.last_pos));
        if micros != open.recorded_at_micros {
            let message = "the event has another time than its batch".to_owned();
            return Some(Finding::over(pos, pos, What::Time, message));
        }
        open.hasher.push(leaf);
        if pos < last {
            return None;
        }
        let open = self.open.take()?;
        let hash = open.hasher.finish();
        if open.row.hash != hash {
            let message = format!(
                "the batch of positions {first} to {last} is not the one that was chained: one of its events, \
                 its time or what is before it was changed"
            );
            return Some(Finding::over(first, last, What::Batch, message));
        }
        self.hash = hash;
        self.recorded_at_micros = open.recorded_at_micros;
        self.batches += 1;
        None
    }

    fn begin(&mut self, pos: u64) -> Option<Finding> {
        let row = self.waiting.pop_front();
        let Some(row) =
            row.filter(|row| unsigned(row.first_pos) == pos && row.last_pos >= row.first_pos)
        else {
            let message = "no batch begins here, and the one before has ended".to_owned();
            return Some(Finding::over(pos, pos, What::Batch, message));
        };
        let micros = row.recorded_at.timestamp_micros();
        if micros < self.recorded_at_micros {
            let message = "the batch was recorded before the one before it".to_owned();
            return Some(Finding::over(
                pos,
                unsigned(row.last_pos),
                What::Time,
                message,
            ));
        }
        let count = unsigned(row.last_pos) - pos + 1;
        self.open = Some(Open {
            hasher: BatchHasher::new(&self.hash, pos, count, micros),
            recorded_at_micros: micros,
            row,
        });
        None
    }

    fn noted(&mut self, pos: u64, note: Result<Signed, String>) -> Option<Finding> {
        self.checkpoints += 1;
        match note {
            Ok(signed) => self.signed(pos, &signed),
            Err(reason) => {
                let message = format!("the checkpoint of {pos} events is no good one: {reason}");
                Some(Finding::over(pos, pos, What::Checkpoint, message))
            }
        }
    }

    /// A good signature: is it of this log?
    fn signed(&mut self, pos: u64, signed: &Signed) -> Option<Finding> {
        let found = &signed.checkpoint;
        let mut tree = self.tree.clone();
        for leaf in &self.rest {
            tree.push(leaf, |_, _| {});
        }
        let is_root = found.root == tree.root();
        if is_root && found.chain != self.hash {
            let (pos, upto) = match &self.open {
                Some(open) => (unsigned(open.row.first_pos), unsigned(open.row.last_pos)),
                None => (self.vouched + 1, pos),
            };
            let message =
                "the events are those that were signed, and their batches are not".to_owned();
            return Some(Finding::over(pos, upto, What::Batch, message));
        }
        if !is_root {
            let (pos, upto) = self.between(pos);
            let message = format!(
                "the log is whole in itself, and not the one that was signed: events of positions {pos} to \
                 {upto} were rewritten"
            );
            return Some(Finding::over(pos, upto, What::History, message));
        }
        if found.recorded_at_micros != self.recorded_at_micros {
            let message = "the checkpoint was signed with another time".to_owned();
            return Some(Finding::over(pos, pos, What::Time, message));
        }
        if found.incarnation != self.incarnation {
            let message = format!(
                "the log calls itself {}, and was {} when it was signed",
                self.incarnation, found.incarnation
            );
            return Some(Finding::over(pos, pos, What::Head, message));
        }
        self.vouched = pos;
        self.kept_wrongly()
    }

    /// The events are good, so the subtree that differs is not.
    fn kept_wrongly(&mut self) -> Option<Finding> {
        let (pos, upto) = self.suspect.take()?;
        let message = format!(
            "`log_subtrees` has another hash for positions {pos} to {upto} than their events give; remove that \
             row, and proofs read the leaves instead"
        );
        Some(Finding::over(pos, upto, What::Subtree, message))
    }

    /// What was not vouched for yet, as closely as kept subtrees tell.
    fn between(&self, upto: u64) -> (u64, u64) {
        let from = self.vouched + 1;
        match self.suspect {
            Some((pos, end)) => (pos.max(from), end.min(upto)),
            None => (from, upto),
        }
    }

    /// A batch that does not fit because an earlier one was chained anew.
    fn narrowed(&self, finding: Finding) -> Finding {
        match self.suspect {
            Some((pos, upto)) if finding.what == What::Batch && pos < finding.pos => Finding {
                pos: pos.max(self.vouched + 1),
                upto: upto.max(pos),
                ..finding
            },
            _ => finding,
        }
    }

    /// Puts what is complete into the tree.
    fn settle(
        &mut self,
        blocks: &HashMap<u64, (Hash, Option<Vec<u8>>)>,
        higher: &HashMap<Place, Vec<u8>>,
    ) {
        let size = self.size();
        if !size.is_multiple_of(BLOCK) {
            return;
        }
        let nth = size / BLOCK - 1;
        let from = self.tree.size();
        match blocks.get(&nth) {
            Some((node, kept)) if from.is_multiple_of(BLOCK) => {
                let differs = kept.as_ref().is_some_and(|kept| kept != node);
                if differs && self.suspect.is_none() {
                    self.suspect = Some((from + 1, size));
                }
                let suspect = &mut self.suspect;
                self.tree.push_node(BLOCK.ilog2(), *node, |place, hash| {
                    if higher.get(&place).is_some_and(|kept| *kept != hash) && suspect.is_none() {
                        *suspect = Some(((place.index << place.level) + 1, size));
                    }
                });
            }
            _ => {
                for leaf in &self.rest {
                    self.tree.push(leaf, |_, _| {});
                }
            }
        }
        self.rest.clear();
    }

    /// The end of the log.
    pub(super) fn finish(&mut self, head: &Head) -> Option<Finding> {
        let upto = unsigned(head.pos);
        if let Some(open) = &self.open {
            let first = unsigned(open.row.first_pos);
            let message = "the last batch has more events than the log".to_owned();
            return Some(Finding::over(first, upto, What::Batch, message));
        }
        if let Some(pos) = head.stray {
            let message =
                "there is something at this position, and the log does not reach it".to_owned();
            return Some(Finding::at(pos, What::Position, message));
        }
        let cut = self.known.range(upto + 1..).next_back();
        if let Some(size) = cut
            .map(|(size, _)| *size)
            .max(head.signed.map(unsigned))
            .filter(|s| *s > upto)
        {
            let message =
                format!("{size} events were signed, and the log has {upto}: its end was cut off");
            return Some(Finding::over(upto + 1, size, What::History, message));
        }
        if head.hash != self.hash
            || head
                .recorded_at
                .is_some_and(|at| at.timestamp_micros() != self.recorded_at_micros)
        {
            let message =
                "the hash or the time of `log_head` is not that of the last batch".to_owned();
            return Some(Finding::over(upto, upto, What::Head, message));
        }
        self.kept_wrongly().or_else(|| self.loose.take())
    }
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
