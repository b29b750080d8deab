"""No instruction that can be executed is without a test against values worked out independently."""

import test_flow_values
import test_image_values
import test_memory_values
import test_sampler_values
import test_values

from visakit.isa import FORMS
from vsim.semantics.refused import REFUSED

TABLES = (test_values, test_memory_values, test_image_values, test_sampler_values, test_flow_values)


def test_every_instruction_has_an_oracle():
    covered = set().union(*(t.COVERED for t in TABLES))
    wanted = {
        f.mnemonic
        for f in FORMS
        if f.semantics not in REFUSED and not f.mnemonic.startswith(".") and not f.semantics.startswith("typed_lsc")
    }
    assert wanted <= covered, sorted(wanted - covered)
    assert covered <= {f.mnemonic for f in FORMS}, sorted(covered - {f.mnemonic for f in FORMS})


def test_every_typed_message_has_an_oracle():
    wanted = {f.mnemonic for f in FORMS if f.semantics.startswith("typed_lsc") and f.semantics not in REFUSED}
    covered = test_image_values.COVERED_TYPED | test_sampler_values.COVERED_TYPED
    assert wanted <= covered, sorted(wanted - covered)
