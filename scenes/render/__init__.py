"""Drawing of one clip: own Manim mobjects, a camera that draws them directly, a synchronous writer, the ledger."""
