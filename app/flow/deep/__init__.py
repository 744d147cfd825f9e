"""The deep flow: ``input_interface → orchestrator ⇄ planner | researcher | expert | critic → finalizer``.

For questions that need several steps which depend on one another. The orchestrator is no mind: what comes next is a
pure function of the state, so that a run can be gone on with from a stored state.
"""
