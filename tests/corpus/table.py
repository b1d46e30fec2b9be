"""Every kind of construct of Python, and the programs that use it."""

from __future__ import annotations

CONSTRUCTS: dict[str, str] = {
    "if, elif, else": """
        branches.if_else branches.elif_chain branches.nested errors.raise_in_a_branch
        hooks.in_a_branch_on_an_inner_value idioms.deep_nesting_of_ifs
        constructs.condition_is_a_tensor_of_one_element""",
    "ternary, and, or, not": """
        branches.ternary branches.and_gives_operand branches.or_gives_operand branches.not_of_number
        branches.short_circuit constructs.ternary_with_side_effects constructs.mixed_operands_that_are_only_tested""",
    "chained comparison": """
        branches.chained_comparison branches.comparison_of_three constructs.chain_of_four_with_calls""",
    "while; while True with break": """
        loops.while_counter loops.while_true_with_break loops.python_condition_that_becomes_a_tensor
        constructs.while_true_with_two_breaks idioms.while_with_complex_condition idioms.collatz""",
    "for over everything": """
        loops.for_over_range loops.for_over_range_object loops.for_over_tensor loops.for_over_rows
        loops.for_over_zip_and_enumerate loops.for_over_reversed loops.for_over_dict_items loops.for_over_count
        growing.counter_with_a_break growing.counter_with_a_return
        calls.generator idioms.iterator_class idioms.zip_longest_and_groupby constructs.itertools_over_tensors""",
    "Python for with break, continue, return on a tensor": """
        loops.break_on_condition loops.continue_on_condition loops.return_in_python_loop
        constructs.break_only_on_tensor_in_a_loop_over_strings""",
    "exits of nested loops, in try and with": """
        loops.break_in_inner_loop loops.inner_break_outer_continue errors.continue_in_try errors.break_in_try
        calls.return_in_with constructs.return_from_the_innermost_of_three_loops constructs.loop_in_try_in_loop
        constructs.break_in_with_in_a_loop constructs.return_through_two_withs idioms.try_else_with_loop_control""",
    "for-else, while-else": """
        loops.for_else loops.while_else loops.for_else_in_tensor_loop constructs.else_of_nested_loops
        constructs.continue_in_the_else_of_a_loop constructs.break_of_the_outer_loop_in_the_else_of_the_inner
        constructs.while_else_with_return""",
    "return in loops and branches, None on some paths": """
        branches.return_in_branches branches.none_on_some_paths loops.return_in_tensor_loop
        branches.other_shapes_on_other_paths branches.other_dtypes_on_other_paths idioms.many_returns""",
    "recursion": "calls.recursion_with_python_depth constructs.recursion_over_a_tree constructs.mutual_recursion",
    "name bound in one branch only": """
        branches.bound_in_one_branch branches.unbound_in_the_other_branch branches.number_bound_in_one_branch
        loops.name_bound_in_the_loop_only errors.unbound_name_in_try idioms.conditional_del_and_rebind""",
    "None before a tensor": """
        branches.none_before loops.none_before_the_loop loops.none_then_set idioms.none_checks
        constructs.none_or_number_in_a_tensor_loop""",
    "what a loop carries changes its type, dtype or shape": """
        loops.int_becomes_float loops.number_becomes_tensor loops.growing_shape loops.changing_rank
        loops.changing_dtype constructs.shape_changes_until_a_tensor_stops_it constructs.while_that_halves_the_shape""",
    "lists in loops": """
        state.append_in_a_python_loop state.append_in_a_branch state.append_in_a_tensor_loop state.pop_in_a_branch
        state.list_returned_from_a_tensor_loop idioms.list_slices_and_methods idioms.while_on_list
        growing.append_what_the_last_gives growing.length_in_the_test growing.append_in_a_branch_with_hooks
        growing.items_set_in_a_growing_list growing.window growing.lists_inside_of_turns
        growing.place_of_a_tensor growing.store_at_a_place""",
    "dict, set, attribute, item writes, also through helpers": """
        state.dict_changed_in_a_branch state.attribute_changed_in_a_branch state.item_set_in_a_tensor_loop
        state.changed_through_a_helper state.changed_through_an_alias idioms.state_in_a_dict_through_a_helper
        idioms.state_in_an_object_through_methods constructs.dict_methods constructs.deque_and_counter
        idioms.dict_subclass_with_missing idioms.class_with_call_counter_in_a_branch""",
    "writes in place": """
        writes.item_write writes.write_in_a_branch writes.slice_write writes.mask_write writes.inplace_methods
        writes.write_through_a_view writes.write_after_saving_use idioms.in_place_and_augmented_mix""",
    "nonlocal and global": """
        state.nonlocal_counter state.global_written_in_a_branch state.inner_nonlocal_in_a_branch
        state.inner_nonlocal_in_a_tensor_loop constructs.nonlocal_through_three_levels constructs.global_counter
        constructs.global_made_and_deleted constructs.nonlocal_deleted""",
    "closures and late binding": """
        state.late_binding state.lambdas_from_a_loop state.cells_shared_by_two_functions state.closure_returned
        constructs.default_bound_at_definition idioms.functions_returned_from_functions""",
    "comprehensions": """
        state.list_comprehension state.comprehension_with_condition state.nested_comprehension
        state.generator_expression constructs.comprehension_scopes constructs.tensor_conditions_in_comprehensions
        constructs.comprehension_in_class_body constructs.nested_comprehension_with_closure
        growing.comprehension_over_a_range growing.comprehension_with_a_condition_of_the_run
        growing.comprehension_over_a_growing_list tricks.walrus_and_dict_comprehension""",
    "walrus, stars, del, f-strings": """
        branches.walrus_in_the_test state.walrus_in_a_comprehension state.star_unpacking branches.deleted_in_a_branch
        errors.print_of_an_f_string constructs.walrus_chain constructs.starred_everywhere
        constructs.del_of_names_items_and_attributes idioms.format_of_everything""",
    "match": """
        constructs.match_on_structure_with_guards constructs.match_with_break_and_continue
        constructs.match_on_enum_values idioms.string_state_in_a_python_loop""",
    "assert": """
        errors.assert_on_a_condition errors.assert_with_tensor_in_message errors.message_of_an_assert_is_lazy
        constructs.assert_with_call_in_message idioms.assertion_chain""",
    "raise in a branch": """
        errors.raise_in_a_branch errors.own_error_in_a_branch errors.effects_before_the_raise
        errors.raise_in_a_tensor_loop constructs.own_exception_with_keywords""",
    "print, logging, warnings": """
        errors.print_in_branches errors.print_in_a_tensor_loop errors.log_in_a_tensor_loop""",
    "try, except, else, finally, raise from, except*": """
        errors.caught_around errors.else_and_finally errors.return_in_try_with_finally errors.raise_from
        constructs.reraised constructs.exception_groups constructs.exception_name_is_deleted
        idioms.nested_try_with_reraise idioms.try_in_a_tensor_loop errors.zero_division_caught
        growing.division_in_place_caught growing.index_error_caught growing.key_error_caught
        tricks.raise_from_in_a_handler tricks.finally_in_a_tensor_loop""",
    "with": """
        calls.with_contextmanager calls.with_in_a_branch calls.no_grad_block constructs.exit_stack
        constructs.suppressed_error constructs.manager_that_swallows_on_a_condition idioms.raise_in_with_of_the_user
        idioms.with_in_a_tensor_loop idioms.return_in_with_in_a_tensor_loop idioms.raise_in_with_in_a_tensor_loop""",
    "values of tensors in Python": """
        calls.numbers_from_tensors calls.math_on_items calls.shape_arithmetic constructs.int_float_bool_of_conditions
        constructs.divmod_pow_and_shift constructs.slices_with_numbers_of_the_run constructs.shapes_steer_python""",
    "isinstance, getattr, sum, min, max, any, all, sorted, map, filter": """
        calls.isinstance_and_hasattr calls.sum_min_max calls.any_and_all calls.map_and_filter state.sorted_by_value
        idioms.type_checks_on_tensors constructs.min_max_and_abs_of_mixed idioms.any_all_with_generators""",
    "parameters of all kinds": """
        calls.stars constructs.arguments_of_all_kinds constructs.mutable_default_across_calls
        idioms.star_import_of_values""",
    "methods, properties, super, descriptors, callable objects, partial": """
        calls.method_and_super calls.classmethod_and_staticmethod calls.property_in_a_condition calls.partial
        calls.method_of_an_outer_object constructs.super_in_three_levels constructs.properties_and_special_methods
        idioms.descriptors_of_the_user idioms.metaclass_and_class_getattr idioms.operators_of_the_user
        constructs.slots_and_getattr idioms.chained_methods_and_properties""",
    "decorators": "calls.user_decorator calls.decorated_no_grad constructs.decorators_stacked",
    "lambdas, nested functions, factories, names like generated ones": """
        calls.immediately_called_lambda calls.function_from_a_factory state.function_chosen_by_a_branch
        constructs.lambdas_in_containers constructs.nested_functions_with_branches idioms.name_like_generated_ones
        idioms.if_else_as_user_names idioms.function_redefined_in_a_branch constructs.function_with_attributes""",
    "functions without source": "tricks.functions_without_source",
    "coroutines": "tricks.coroutine_driven_by_hand",
    "generators": """
        calls.generator calls.generator_with_condition_outside calls.generator_with_effects_and_a_break
        constructs.generator_with_send constructs.yield_from_and_islice idioms.generator_with_return_value
        idioms.generator_closed_early idioms.generator_over_a_tensor_with_break""",
    "libraries": """
        calls.math_on_items constructs.math_functions constructs.partials_and_operators idioms.numpy_beside_tensors
        idioms.deepcopied_state""",
    "arguments and results with structure": """
        state.arguments_in_containers state.dataclass_returned state.namedtuple_from_branches
        constructs.namedtuple_through_a_loop constructs.dataclass_fields_in_a_loop idioms.dict_returns_of_branches""",
    "type hints and literals": """
        tricks.literals_of_all_kinds constructs.annotated_assignments constructs.pass_and_ellipsis
        constructs.bytes_sets_and_complex""",
}
