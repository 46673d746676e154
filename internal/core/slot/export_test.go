package slot

import "slices"

// Stages names the stages in order, for tests that change them.
func Stages() []string {
	var names []string
	for _, s := range stages() {
		names = append(names, s.name)
	}
	return names
}

// StepBy is Step with the named stages, in that order: a mutant.
func StepBy(names ...string) func(Input) (Decision, error) {
	var chosen []stage
	for _, name := range names {
		i := slices.IndexFunc(stages(), func(s stage) bool { return s.name == name })
		chosen = append(chosen, stages()[i])
	}
	return func(in Input) (Decision, error) { return walk(newRun(in), chosen) }
}

// OffClauses names the clauses of the off rule, for tests that drop one.
func OffClauses() []string {
	var names []string
	for _, c := range offRule() {
		names = append(names, c.name)
	}
	return names
}

// StepWithoutOffClause is Step under an off rule that lacks the named clause: a mutant.
func StepWithoutOffClause(name string) func(Input) (Decision, error) {
	return func(in Input) (Decision, error) {
		r := newRun(in)
		r.offRule = slices.DeleteFunc(r.offRule, func(c offClause) bool { return c.name == name })
		return walk(r, stages())
	}
}

func walk(r *run, through []stage) (Decision, error) {
	for _, s := range through {
		s.run(r)
		if r.err != nil {
			return Decision{}, r.err
		}
	}
	return r.finish(), nil
}
