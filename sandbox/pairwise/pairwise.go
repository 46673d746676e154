// Package pairwise tries many options with few rows: every choice of one option meets every choice of every other in at
// least one of them. Most faults of combinations are faults of a pair, and the rows grow with the choices, not with their
// product.
package pairwise

// Rows answers rows with one choice for each option, by index. Choices says how many each option has; an option without a
// choice is a fault of the caller and panics. The same choices give the same rows.
func Rows(choices []int) [][]int {
	open := openPairs(choices)
	var rows [][]int
	if len(choices) == 1 { // it has no pairs, and is tried all the same
		for choice := range choices[0] {
			rows = append(rows, []int{choice})
		}
	}
	for len(open) > 0 {
		row := fill(choices, open)
		for a := range row {
			for b := range a {
				delete(open, pair{b, row[b], a, row[a]})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// pair is a choice of one option beside a choice of a later one.
type pair struct{ option, choice, later, laterChoice int }

func openPairs(choices []int) map[pair]bool {
	open := map[pair]bool{}
	for later, n := range choices {
		if n < 1 {
			panic("pairwise: an option without a choice")
		}
		for option := range later {
			for choice := range choices[option] {
				for laterChoice := range n {
					open[pair{option, choice, later, laterChoice}] = true
				}
			}
		}
	}
	return open
}

// fill takes for each option the choice that meets the most pairs that are still open: those with the choices already
// made, and, as a promise, those with options to come. The first such choice wins, so that the rows never vary.
func fill(choices []int, open map[pair]bool) []int {
	row := make([]int, len(choices))
	promise := promises(choices, open)
	met := false
	for option, n := range choices {
		best := -1
		for choice := range n {
			meets := 0
			for earlier := range option {
				if open[pair{earlier, row[earlier], option, choice}] {
					meets++
				}
			}
			// A pair that is met now weighs more than all that may be met later.
			if score := meets*len(open) + promise[option][choice]; score > best {
				best, row[option] = score, choice
			}
			met = met || meets > 0
		}
	}
	if !met {
		force(row, choices, open)
	}
	return row
}

// promises counts, for each choice, the open pairs it is part of.
func promises(choices []int, open map[pair]bool) [][]int {
	counts := make([][]int, len(choices))
	for option, n := range choices {
		counts[option] = make([]int, n)
	}
	for p := range open {
		counts[p.option][p.choice]++
		counts[p.later][p.laterChoice]++
	}
	return counts
}

// force puts one open pair into a row that would meet none, the first of all, so that every row brings the end nearer.
func force(row, choices []int, open map[pair]bool) {
	for later, n := range choices {
		for option := range later {
			for choice := range choices[option] {
				for laterChoice := range n {
					if open[pair{option, choice, later, laterChoice}] {
						row[option], row[later] = choice, laterChoice
						return
					}
				}
			}
		}
	}
}
