package slot

// Step decides what is to be done about one machine. It reads only its Input, leaves it alone, and answers the same
// Decision for the same Input. The error is ErrIllegalMove wrapped; the Decision is then empty.
func Step(in Input) (Decision, error) {
	return Decision{}, nil
}
