"""test_prepared on a GPU."""

import pytest
from prepared_cases import cases, holds_its_blocks_to_what_was_checked, others, refuses_what_is_not_there

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("name", "variant", "instance"), list(cases("cuda")))
def test_a_query_or_an_answer_that_is_not_there(name, variant, instance):
    refuses_what_is_not_there(name, variant, instance, "cuda")


@pytest.mark.parametrize("given", others())
def test_a_solver_that_another_class_makes(given):
    refuses_what_is_not_there("apsp", "fast", {"answer": "matrix"}, "cuda", others()[given])
    holds_its_blocks_to_what_was_checked("apsp", "fast", {"answer": "matrix"}, "cuda", others()[given])


@pytest.mark.parametrize(("name", "variant", "instance"), list(cases("cuda")))
def test_blocks_of_a_class_that_inherits_its_check(name, variant, instance):
    holds_its_blocks_to_what_was_checked(name, variant, instance, "cuda")
