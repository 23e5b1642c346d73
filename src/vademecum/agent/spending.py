"""A background request, paid from the day's allowance.

Idea: book an estimate, ask, correct it to what it was. Invariant: no background request is sent without being booked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.errors import ModelError
from vademecum.jobs import Allowance
from vademecum.jobs.allowance import cost

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.bank.typed import Ask
    from vademecum.models import ChatModel, ChatReply, ChatRequest

_ANSWER_TOKENS = 1_000


def allowance(vm: Vademecum) -> Allowance:
    """What the home's background requests may still cost today."""
    return Allowance(vm.db, vm.config.background_limit, vm.clock)


def asker(vm: Vademecum, purpose: str) -> Ask | None:
    """What asks the background model for `purpose`; None when there is none or it may not be asked."""
    from vademecum.agent.retainer import background_model

    model = background_model(vm)
    return None if model is None else lambda request: ask(vm, model, purpose, request)


def ask(vm: Vademecum, model: ChatModel, purpose: str, request: ChatRequest) -> ChatReply:
    """The model's answer, booked under `purpose`. Raises RefusedError when today's allowance is used up, ModelError."""
    purse = allowance(vm)
    estimate = cost(request.estimate(), request.max_tokens or _ANSWER_TOKENS)
    purse.spend(purpose, estimate)
    try:
        reply = model.complete(request)
    except ModelError as error:
        if error.status is not None:  # the vendor refused it: nothing is charged for that
            purse.correct(purpose, -estimate)
        raise
    usage = reply.usage
    if usage.input_tokens or usage.output_tokens:  # a server that does not count leaves the estimate as it is
        purse.correct(purpose, cost(usage.input_tokens, usage.output_tokens, usage.dollars) - estimate)
    return reply
