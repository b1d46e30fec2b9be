"""Every kind of construct of Python, what must hold of it, and the programs that show it."""

from __future__ import annotations

# Of the construct as a whole, in the empty place; then of what is easily got wrong about it.
CONSTRUCTS: dict[str, dict[str, str]] = {
    "if, elif, else": {
        "": """
            branches.if_else branches.elif_chain branches.nested errors.raise_in_a_branch
            hooks.in_a_branch_on_an_inner_value idioms.deep_nesting_of_ifs
            constructs.condition_is_a_tensor_of_one_element""",
        "effects, hooks and errors of the taken branch only": """
            branches.if_else errors.raise_in_a_branch errors.print_in_branches hooks.in_a_branch_on_an_inner_value""",
    },
    "ternary, and, or, not": {
        "": """
            branches.ternary branches.and_gives_operand branches.or_gives_operand branches.not_of_number
            branches.short_circuit constructs.ternary_with_side_effects
            constructs.mixed_operands_that_are_only_tested""",
        "short circuit": "branches.short_circuit",
        "the operand, not a bool": """
            rows.operands_of_and_and_or branches.and_gives_operand branches.or_gives_operand""",
    },
    "chained comparison": {
        "": "branches.chained_comparison branches.comparison_of_three constructs.chain_of_four_with_calls",
        "the middle term is evaluated once": "rows.middle_term_is_evaluated_once",
    },
    "while; while True with break": {
        "": """
            loops.while_counter loops.while_true_with_break loops.python_condition_that_becomes_a_tensor
            constructs.while_true_with_two_breaks idioms.while_with_complex_condition idioms.collatz""",
        "while True with a tensor break": """
            rows.while_true_and_a_tensor_break loops.while_true_with_break loops.while_true_with_return""",
        "a Python condition becomes a tensor": """
            rows.python_number_becomes_a_tensor_in_the_test loops.python_condition_that_becomes_a_tensor""",
    },
    "for over everything": {
        "": """
            loops.for_over_range loops.for_over_range_object loops.for_over_tensor loops.for_over_rows
            loops.for_over_zip_and_enumerate loops.for_over_reversed loops.for_over_dict_items loops.for_over_count
            calls.generator idioms.iterator_class idioms.zip_longest_and_groupby constructs.itertools_over_tensors""",
        "range of tensors, range objects": """
            loops.for_over_range loops.for_over_range_with_start_and_step loops.for_over_falling_range
            loops.for_over_range_object""",
        "rows": "loops.for_over_rows loops.for_over_tensor",
        "zip, enumerate with start": """
            loops.for_over_zip_and_enumerate loops.for_over_zip_of_tensors rows.enumerate_from_a_number_of_the_run""",
        "reversed": "rows.reversed_of_everything loops.for_over_reversed loops.for_over_reversed_ranges",
        "dict items": "loops.for_over_dict_items",
        "generators and iterators of the user": """
            calls.generator iterating.loop_over_an_iterator_of_the_user iterating.iterators_in_itertools""",
        "itertools.count with break": "rows.count_with_start_step_and_break loops.for_over_count",
    },
    "Python for with break, continue, return on a tensor": {
        "": """
            loops.break_on_condition loops.continue_on_condition loops.return_in_python_loop
            constructs.break_only_on_tensor_in_a_loop_over_strings""",
        "what the iterator does behind the break": """
            iterating.generator_from_outside_with_a_break iterating.map_with_a_break
            iterating.generator_that_would_raise_behind_the_break""",
    },
    "exits of nested loops, in try and with": {
        "": """
            loops.break_in_inner_loop loops.inner_break_outer_continue errors.continue_in_try errors.break_in_try
            calls.return_in_with constructs.return_from_the_innermost_of_three_loops constructs.loop_in_try_in_loop
            constructs.break_in_with_in_a_loop constructs.return_through_two_withs idioms.try_else_with_loop_control""",
        "finally of every level": "rows.exits_through_nested_finally",
        "with in a tensor loop": "iterating.loop_beside_a_generator_inside",
    },
    "for-else, while-else": {
        "": """
            loops.for_else loops.while_else loops.for_else_in_tensor_loop constructs.else_of_nested_loops
            constructs.continue_in_the_else_of_a_loop constructs.break_of_the_outer_loop_in_the_else_of_the_inner
            constructs.while_else_with_return""",
    },
    "return in loops and branches, None on some paths": {
        "": """
            branches.return_in_branches branches.none_on_some_paths loops.return_in_tensor_loop
            branches.other_shapes_on_other_paths branches.other_dtypes_on_other_paths idioms.many_returns""",
        "None or a tensor out of a loop": "loops.none_returned_from_a_loop",
    },
    "recursion": {
        "": "calls.recursion_with_python_depth constructs.recursion_over_a_tree constructs.mutual_recursion",
        "to a depth that Python knows": "rows.recursion_of_twenty_calls calls.recursion_with_python_depth",
        "refused where a tensor stops it": "rows.recursion_that_a_tensor_stops",
    },
    "name bound in one branch only": {
        "": """
            branches.bound_in_one_branch branches.unbound_in_the_other_branch branches.number_bound_in_one_branch
            loops.name_bound_in_the_loop_only errors.unbound_name_in_try idioms.conditional_del_and_rebind""",
        "functions": "rows.function_bound_in_one_branch",
        "the error names the name": "branches.unbound_in_the_other_branch",
    },
    "None before a tensor": {
        "": """
            branches.none_before loops.none_before_the_loop loops.none_then_set idioms.none_checks
            constructs.none_or_number_in_a_tensor_loop""",
        "compared with what was found": "rows.none_before_and_compared",
    },
    "what a loop carries changes its type, dtype or shape": {
        "": """
            loops.int_becomes_float loops.number_becomes_tensor loops.growing_shape loops.changing_rank
            loops.changing_dtype constructs.shape_changes_until_a_tensor_stops_it
            constructs.while_that_halves_the_shape""",
    },
    "lists in loops": {
        "": """
            state.append_in_a_python_loop state.append_in_a_branch state.append_in_a_tensor_loop
            state.pop_in_a_branch state.list_returned_from_a_tensor_loop state.list_of_numbers_from_a_tensor_loop
            idioms.list_slices_and_methods idioms.while_on_list lists.list_index lists.list_pops lists.list_slices
            lists.list_stack_after lists.list_nested lists.list_rebinding lists.list_queue""",
        "pop, index and stack in a tensor loop": "lists.list_pops growing.window growing.queue_of_tuples",
    },
    "dict, set, attribute, item writes, also through helpers": {
        "": """
            state.dict_changed_in_a_branch state.attribute_changed_in_a_branch state.item_set_in_a_tensor_loop
            state.changed_through_a_helper state.changed_through_an_alias idioms.state_in_a_dict_through_a_helper
            idioms.state_in_an_object_through_methods constructs.dict_methods constructs.deque_and_counter
            idioms.dict_subclass_with_missing idioms.class_with_call_counter_in_a_branch""",
        "helpers and methods": "rows.object_and_dict_through_helpers",
    },
    "writes in place": {
        "": """
            writes.item_write writes.write_in_a_branch writes.slice_write writes.mask_write writes.inplace_methods
            writes.write_through_a_view writes.write_after_saving_use idioms.in_place_and_augmented_mix""",
        "ellipsis, masks, index tensors": "rows.writes_with_ellipsis_masks_and_index_tensors",
        "add_ and its like": "writes.inplace_methods writes.inplace_method_in_a_loop",
    },
    "nonlocal and global": {
        "": """
            state.nonlocal_counter state.global_written_in_a_branch state.inner_nonlocal_in_a_branch
            state.inner_nonlocal_in_a_tensor_loop constructs.nonlocal_through_three_levels constructs.global_counter
            constructs.global_made_and_deleted constructs.nonlocal_deleted""",
    },
    "closures and late binding": {
        "": """
            state.late_binding state.lambdas_from_a_loop state.cells_shared_by_two_functions state.closure_returned
            constructs.default_bound_at_definition idioms.functions_returned_from_functions""",
        "rebound behind a closure": "rows.names_rebound_behind_closures",
    },
    "comprehensions": {
        "": """
            state.list_comprehension state.comprehension_with_condition state.nested_comprehension
            state.generator_expression constructs.comprehension_scopes
            constructs.tensor_conditions_in_comprehensions constructs.comprehension_in_class_body
            constructs.nested_comprehension_with_closure""",
        "nested, with conditions": "rows.nested_comprehensions_with_conditions",
    },
    "walrus, stars, del, f-strings": {
        "": """
            branches.walrus_in_the_test state.walrus_in_a_comprehension state.star_unpacking
            branches.deleted_in_a_branch errors.print_of_an_f_string constructs.walrus_chain
            constructs.starred_everywhere constructs.del_of_names_items_and_attributes idioms.format_of_everything""",
        "specs and =": "rows.text_with_specs_and_names",
    },
    "match": {
        "": """
            constructs.match_on_structure_with_guards constructs.match_with_break_and_continue
            constructs.match_on_enum_values idioms.string_state_in_a_python_loop""",
        "numbers of the run": "rows.match_on_numbers_of_the_run",
        "guards on tensors": "rows.match_with_a_guard_and_a_capture",
    },
    "assert": {
        "": """
            errors.assert_on_a_condition errors.assert_with_tensor_in_message errors.message_of_an_assert_is_lazy
            constructs.assert_with_call_in_message idioms.assertion_chain""",
    },
    "raise in a branch": {
        "": """
            errors.raise_in_a_branch errors.own_error_in_a_branch errors.effects_before_the_raise
            errors.raise_in_a_tensor_loop constructs.own_exception_with_keywords""",
        "type and arguments": """
            rows.raise_with_two_arguments errors.raised_before_anything_else errors.group_that_tells_tensors""",
    },
    "print, logging, warnings": {
        "": "errors.print_in_branches errors.print_in_a_tensor_loop errors.log_in_a_tensor_loop",
        "on every call, with values": "rows.print_log_and_warn",
    },
    "try, except, else, finally, raise from, except*": {
        "": """
            errors.caught_around errors.else_and_finally errors.return_in_try_with_finally errors.raise_from
            constructs.reraised constructs.exception_groups constructs.exception_name_is_deleted
            idioms.nested_try_with_reraise idioms.try_in_a_tensor_loop""",
        "errors of the Program are caught": """
            attempts.attempt_tensor_index attempts.attempt_math_domain errors.zero_division_caught
            errors.error_of_an_op_caught""",
        "causes, groups and notes": """
            errors.raised_from_one_that_tells_a_tensor errors.notes_that_tell_tensors
            errors.raised_from_another_in_a_tensor_loop""",
    },
    "with": {
        "": """
            calls.with_contextmanager calls.with_in_a_branch calls.no_grad_block constructs.exit_stack
            constructs.suppressed_error constructs.manager_that_swallows_on_a_condition
            idioms.raise_in_with_of_the_user idioms.with_in_a_tensor_loop idioms.return_in_with_in_a_tensor_loop
            idioms.raise_in_with_in_a_tensor_loop""",
    },
    "values of tensors in Python": {
        "": """
            calls.numbers_from_tensors calls.math_on_items calls.shape_arithmetic
            constructs.int_float_bool_of_conditions constructs.divmod_pow_and_shift
            constructs.slices_with_numbers_of_the_run constructs.shapes_steer_python""",
        "numbers of the run, never differentiated": "rows.numbers_are_not_differentiated",
        "as list index and dict key": """
            rows.list_and_dict_at_numbers_of_the_run growing.text_by_place growing.value_by_key""",
        "refused by line where Python needs them": """
            rows.step_of_a_tuple_that_only_the_run_knows rows.name_that_only_the_run_knows""",
    },
    "isinstance, getattr, sum, min, max, any, all, sorted, map, filter": {
        "": """
            calls.isinstance_and_hasattr calls.sum_min_max calls.any_and_all calls.map_and_filter
            state.sorted_by_value idioms.type_checks_on_tensors constructs.min_max_and_abs_of_mixed
            idioms.any_all_with_generators""",
        "all of them at once": "rows.builtins_on_tensors_and_numbers rows.smallest_and_largest "
        "rows.builtins_that_ask_about_parts",
        "with a key": "rows.sorted_with_a_key",
    },
    "parameters of all kinds": {
        "": """
            calls.stars constructs.arguments_of_all_kinds constructs.mutable_default_across_calls
            idioms.star_import_of_values""",
        "defaults, positional-only, keyword-only, signature": "rows.parameters_of_every_kind",
        "first argument not called self": "rows.first_argument_of_another_name",
    },
    "methods, properties, super, descriptors, callable objects, partial": {
        "": """
            calls.method_and_super calls.classmethod_and_staticmethod calls.property_in_a_condition calls.partial
            calls.method_of_an_outer_object constructs.super_in_three_levels
            constructs.properties_and_special_methods idioms.descriptors_of_the_user
            idioms.metaclass_and_class_getattr idioms.operators_of_the_user constructs.slots_and_getattr
            idioms.chained_methods_and_properties""",
        "super of both kinds in three levels": "rows.methods_of_every_kind",
    },
    "decorators": {
        "": "calls.user_decorator calls.decorated_no_grad constructs.decorators_stacked",
        "below to_static, with arguments, stacked": "rows.decorators_below_to_static",
        "contextmanager": "calls.with_contextmanager",
    },
    "lambdas, nested functions, factories, names like generated ones": {
        "": """
            calls.immediately_called_lambda calls.function_from_a_factory state.function_chosen_by_a_branch
            constructs.lambdas_in_containers constructs.nested_functions_with_branches
            idioms.name_like_generated_ones idioms.if_else_as_user_names idioms.function_redefined_in_a_branch
            constructs.function_with_attributes""",
        "several lambdas on one line": "rows.lambdas_on_one_line",
    },
    "generators, async def": {
        "": """
            calls.generator calls.generator_with_condition_outside calls.generator_with_effects_and_a_break
            constructs.generator_with_send constructs.yield_from_and_islice idioms.generator_with_return_value
            idioms.generator_closed_early idioms.generator_over_a_tensor_with_break""",
        "a tensor condition inside": "rows.generator_with_a_tensor_condition",
        "coroutines": "rows.coroutine_that_runs_to_its_end tricks.coroutine_driven_by_hand",
        "refused: a tensor loop inside": "rows.generator_with_a_tensor_loop",
    },
    "functions without source": {
        "run as they are inside": "rows.function_without_source_inside tricks.functions_without_source",
    },
    "libraries": {
        "": """
            calls.math_on_items constructs.math_functions constructs.partials_and_operators
            idioms.numpy_beside_tensors idioms.deepcopied_state""",
        "numpy": "rows.numpy_functions",
    },
    "arguments and results with structure": {
        "": """
            state.arguments_in_containers state.dataclass_returned state.namedtuple_from_branches
            constructs.namedtuple_through_a_loop constructs.dataclass_fields_in_a_loop
            idioms.dict_returns_of_branches""",
        "every kind of result": "rows.results_of_every_kind",
    },
    "type hints and literals": {
        "": "constructs.annotated_assignments constructs.pass_and_ellipsis constructs.bytes_sets_and_complex",
        "tabs, low indents, continuations, unicode, big numbers": """
            rows.literals_and_low_indents tricks.literals_of_all_kinds""",
    },
}
