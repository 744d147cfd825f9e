"""The deep flow: ``input_interface → orchestrator ⇄ planner | researcher | expert | critic → finalizer``."""
