"""The prompts of the experiments. They are stored with the traces and shown on slides, so they name nobody."""

SUBJECT = """\
You are on call for a small web shop. This message has just come in:

"Since noon our assistant has been slow. The first word takes seconds to appear, then the text runs smoothly. \
Short questions suffer as much as long ones. It is worst when many customers write at once, and almost gone at night. \
We changed nothing. The dashboard shows that the processors are busy, the memory is nearly full, and no errors."

A colleague adds: "À Genève, c'est déjà très lent depuis midi."

Explain to the shop's owner, in plain words and in no more than three sentences, where the time is probably spent, \
which single measurement would prove it, and what you would try first. Do not guess at causes that the message \
rules out.
"""

NEIGHBOUR = "Tell me a story about a lighthouse."
