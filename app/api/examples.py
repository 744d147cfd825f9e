"""Examples shown in the API's documentation; tests hold them against the records they stand for."""

from typing import Any

_EVIDENCE: dict[str, Any] = {
    "url": "https://intra.company.example/hr/punctuality",
    "created_at": "2026-08-20T03:12:45Z",
    "source_type": "rag",
    "scope": "private",
    "relevance_score": 0.92,
}
_TASK_ID, _SESSION_ID = "6a0f6a52-6a1c-4a53-9d0c-2f6a3f1f7c11", "0d9a3f0e-58c7-4a7e-8a55-0b8f7c0f4f21"

ANSWER: dict[str, Any] = {
    "answer": "Công ty có 4 giá trị cốt lõi: Khách hàng trước tiên, Chính trực, Hợp tác, Kỷ luật. Đi muộn ảnh hưởng "
    "đến giá trị Kỷ luật.",
    "evidence": [_EVIDENCE],
    "reasoning": "Ưu tiên quy định còn hiệu lực của phòng nhân sự.",
    "confidence_score": 0.89,
    "follow_up_questions": ["Nội quy đi muộn định nghĩa thế nào?"],
    "flow_action": [
        {"order": 1, "node_id": "Router", "type": "router", "status": "done", "metadata": {"decision": "direct"}},
        {
            "order": 2,
            "node_id": "hr#rag",
            "type": "agent_tool",
            "agent": "hr",
            "tool": "rag_tool",
            "query_index": 1,
            "status": "done",
            "duration_ms": 97,
        },
    ],
    "execution_metadata": {
        "total_duration_ms": 320,
        "agents_invoked": ["general", "hr"],
        "tools_executed": ["rag_tool", "summary_tool"],
        "total_queries": 3,
        "conflict_resolution_applied": False,
        "department_permission_filtering": True,
        "accessible_departments": ["general", "hr"],
    },
    "session_id": _SESSION_ID,
    "task_id": _TASK_ID,
    "outcome": "answered",
}

ERROR_ANSWER: dict[str, Any] = {
    "error": True,
    "error_code": "AGENT_EXECUTION_FAILED",
    "error_message": "HR agent failed to execute rag_tool",
    "partial_results": {
        "general": {"status": "success", "answer": "Công ty có 4 giá trị cốt lõi."},
        "hr": {"status": "failed", "error": "Tool timeout"},
    },
    "fallback_answer": "Dựa trên thông tin có sẵn, công ty có 4 giá trị cốt lõi.",
    "flow_action": [
        {
            "order": 1,
            "node_id": "ErrorHandler",
            "type": "error_handler",
            "status": "handled",
            "error_details": {"failed_agent": "hr", "failed_tool": "rag_tool", "error_type": "timeout"},
        }
    ],
    "session_id": _SESSION_ID,
    "task_id": _TASK_ID,
    "outcome": "failed",
}

PLAN: dict[str, Any] = {
    "plan": {
        "original_query": "đi muộn thì bị gì?",
        "refined_query": "Đi muộn thì bị xử lý thế nào?",
        "agents": {"hr": {"queries": [{"1": "Đi muộn thì bị xử lý thế nào?"}], "tools": ["rag_tool"]}},
        "permission": {"user_access": ["public", "internal"]},
        "execution_flow": {
            "planning": {
                "tasks": [
                    {
                        "1": [
                            {
                                "agent": "hr",
                                "tool": "rag_tool",
                                "message": "Truy vấn quy định đi muộn",
                                "status": "pending",
                            }
                        ]
                    }
                ],
                "aggregate_status": "pending",
            },
            "conflict_resolution": "Ưu tiên quy định còn hiệu lực",
        },
    },
    "user_access": ["internal", "public"],
    "token_estimate": 2_750,
}

STREAM = f"""id: 1
event: task_available
data: {{"type":"task_available","task_id":"{_TASK_ID}","session_id":"{_SESSION_ID}","query":"đi muộn thì bị gì?"}}

id: 4
event: progress
data: {{"node":"execute_planning","output":{{"processing_status":"plan_ready","progress_percentage":75}}}}

: ping

id: 19
event: final_report
data: {{"type":"final_report","answer":{{"answer":"…","outcome":"answered"}}}}

"""


def _source(title: str, department: str, claim: str, effective: str, score: float, **factors: float) -> dict[str, Any]:
    return {
        "kind": "document",
        "document_id": f"0f0a9c5e-3a41-4d5a-9b55-6d7a6b1f{effective[:4]}",
        "url": f"https://intra.company.example/{department}/leave-{effective[:4]}",
        "title": title,
        "claim": claim,
        "department": department,
        "scope": "internal",
        "effective": effective,
        "recency": "within_30_days" if factors["recency"] > 0.5 else "older",
        "factors": {"domain": 1.0, "scope": 0.7, **factors},
        "score": score,
    }


def _verdict(margin: float, new_score: float, old_score: float, **weights: float) -> dict[str, Any]:
    new = ("Nghỉ phép 2026", "hr", "Nhân viên được nghỉ 14 ngày phép năm.", "2026-01-01T00:00:00Z", new_score)
    old = ("Nghỉ phép", "hr", "Nhân viên được nghỉ 12 ngày phép năm.", "2024-01-01T00:00:00Z", old_score)
    return {
        "winner": _source(*new, recency=0.9, relevance=0.8),
        "loser": _source(*old, recency=0.5, relevance=0.9),
        "margin": margin,
        "decided": margin >= 0.1,
        "rule": "weighted_scoring",
        "weights": weights,
        "threshold": 0.1,
        "rules": {
            "priority_by_scope": {"private": 0.9, "internal": 0.7, "public": 0.5},
            "priority_by_recency": {"within_30_days": 0.9, "within_90_days": 0.7, "older": 0.5},
        },
    }


RESOLUTION: dict[str, Any] = {
    "task_id": _TASK_ID,
    "conflicts": [
        {
            "subject": "Một năm được nghỉ phép bao nhiêu ngày?",
            "conflict_type": "outdated",
            "reason": "much_older",
            "before": _verdict(0.085, 0.87, 0.785, domain=0.35, scope=0.25, recency=0.25, relevance=0.15),
            "after": _verdict(0.19, 0.87, 0.68, domain=0.2, scope=0.2, recency=0.5, relevance=0.1),
            "winner_changed": False,
        }
    ],
}
