package pairwise_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/sandbox/pairwise"
)

// missing is a pair of choices that no row holds.
func missing(choices []int, rows [][]int) (found []int) {
	for a := range choices {
		for x := range choices[a] {
			if !holds(rows, a, x, a, x) {
				return []int{a, x}
			}
		}
		for b := range a {
			for x := range choices[a] {
				for y := range choices[b] {
					if !holds(rows, a, x, b, y) {
						return []int{a, x, b, y}
					}
				}
			}
		}
	}
	return nil
}

func holds(rows [][]int, a, x, b, y int) bool {
	for _, row := range rows {
		if row[a] == x && row[b] == y {
			return true
		}
	}
	return false
}

func TestEveryPairIsInARow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		choices := make([]int, random.IntN(12))
		product := 1
		for i := range choices {
			choices[i] = 1 + random.IntN(5)
			product *= choices[i]
		}
		rows := pairwise.Rows(choices)
		if pair := missing(choices, rows); pair != nil {
			t.Fatalf("%v: no row holds %v: %v", choices, pair, rows)
		}
		if len(rows) > product {
			t.Errorf("%v: %d rows are more than all combinations", choices, len(rows))
		}
		if diff := cmp.Diff(rows, pairwise.Rows(choices)); diff != "" {
			t.Errorf("the same choices give other rows:\n%s", diff)
		}
	}
}

func TestTheRowsAreFew(t *testing.T) {
	for name, test := range map[string]struct {
		choices []int
		most    int
	}{
		"no option":               {nil, 0},
		"one option":              {[]int{3}, 3},
		"two options":             {[]int{3, 4}, 12},
		"forty switches":          {make40(2), 16},
		"forty of three":          {make40(3), 30},
		"one long and many short": {append([]int{9}, make40(2)...), 28},
	} {
		t.Run(name, func(t *testing.T) {
			rows := pairwise.Rows(test.choices)
			t.Logf("%d rows", len(rows))
			if len(rows) > test.most {
				t.Errorf("%d rows, more than %d", len(rows), test.most)
			}
		})
	}
}

func make40(n int) []int {
	choices := make([]int, 40)
	for i := range choices {
		choices[i] = n
	}
	return choices
}
