"""How large chunks should be, and who should cut them: what is found when the same documents are cut in different ways.

``python -m bench.chunking`` cuts the demonstration documents and XQuAD articles (as paragraphs, as one long line, as
wrapped lines) with every cutter, embeds all pieces and questions with the bundled model, searches by vectors fused with
BM25, and prints by corpus: pieces and their tokens, recall at 1 and 5, mean reciprocal rank, recall within the first
1,000 tokens returned (larger pieces use them up sooner) and tokens of the first 5. Recall at 1 by vectors alone comes
last. A piece answers when it holds the answer at its very place (XQuAD) or an expected phrase of an expected document.
``--overlap`` compares overlaps instead, each as the mean over five sizes. ``--peers`` adds other splitters that are
installed, ``--also FILE`` an earlier version: a Python file with ``chunk(text, title)``.
"""
