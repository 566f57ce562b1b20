//! From the bytes of a queue to a task, or to the reason why they are none (O-120).

use domain::message::{MESSAGE_BYTES_MAX, TaskMessage};

/// Longest name of a node that can be part of a key in the object store.
const NODE_BYTES_MAX: usize = 200;

/// Reads a message of `queue`.
pub(super) fn decode(queue: &str, payload: &[u8]) -> Result<TaskMessage, String> {
    if payload.len() > MESSAGE_BYTES_MAX {
        return Err(format!(
            "the message has {} bytes, {MESSAGE_BYTES_MAX} are allowed",
            payload.len()
        ));
    }
    let task: TaskMessage =
        serde_json::from_slice(payload).map_err(|error| format!("not a task message: {error}"))?;
    if task.queue != queue {
        return Err(format!("a message of the queue `{}` lies here", task.queue));
    }
    let node = &task.node_id.name;
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if node.is_empty() || node.len() > NODE_BYTES_MAX || !node.chars().all(plain) {
        return Err("the node has no usable name".to_owned());
    }
    let task_id = task.node_id.task_id(task.job_id, task.attempt);
    if task.task_id != task_id {
        return Err(format!(
            "task_id is `{}`, but job, node and attempt give `{task_id}`",
            task.task_id.chars().take(300).collect::<String>()
        ));
    }
    if task.attempt == 0 || task.epoch == 0 || task.timeout_seconds == 0 {
        return Err("attempt, epoch and timeout_seconds count from 1".to_owned());
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::decode;

    fn message() -> Value {
        let job = "job_00000000000000000000000000000007";
        json!({
            "task_id": format!("{job}_greet_1"), "job_id": job, "node_id": "greet",
            "handler": "echo", "params": {}, "timeout_seconds": 60, "retry_count": 0,
            "attempt": 1, "epoch": 1, "queue": "q", "priority": "normal",
            "owner": "00000000-0000-0000-0000-000000000001", "a_later_field": true,
        })
    }

    fn refused(field: &str, value: Value) -> String {
        let mut message = message();
        message[field] = value;
        decode("q", message.to_string().as_bytes()).unwrap_err()
    }

    #[test]
    fn a_good_message_is_a_task() {
        let task = decode("q", message().to_string().as_bytes()).unwrap();
        assert_eq!(task.handler, "echo");
    }

    #[test]
    fn every_breach_is_named() {
        assert!(decode("q", b"\xff{").unwrap_err().contains("not a task"));
        assert!(refused("queue", json!("p")).contains("queue `p`"));
        assert!(refused("node_id", json!("../up")).contains("usable name"));
        assert!(refused("attempt", json!(2)).contains("task_id"));
        assert!(refused("epoch", json!(0)).contains("count from 1"));
        let large = vec![b' '; domain::message::MESSAGE_BYTES_MAX + 1];
        assert!(decode("q", &large).unwrap_err().contains("bytes"));
    }
}
