"""Examples shown in the API's documentation; tests hold them against the records they stand for."""

from typing import Any

_EVIDENCE: dict[str, Any] = {
    "url": "https://intra.acme.example/hr/punctuality",
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
