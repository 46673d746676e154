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
	return func(in Input) (Decision, error) {
		r := newRun(in)
		for _, s := range chosen {
			s.run(r)
			if r.err != nil {
				return Decision{}, r.err
			}
		}
		return r.finish(), nil
	}
}
