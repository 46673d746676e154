package validate

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// threshold is a decimal from 0 to 1, or empty for the client's own.
func threshold(path *field.Path, text string) field.ErrorList {
	if text == "" {
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value <= 1) {
		return field.ErrorList{field.Invalid(path, text, `must be a decimal number from 0 to 1, as "0.5"`)}
	}
	return nil
}

// rate is a decimal that is not negative.
func rate(path *field.Path, text string) field.ErrorList {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value < maxRate) {
		return field.ErrorList{field.Invalid(path, text, `must be a decimal number, not negative, as "0.12"`)}
	}
	return nil
}

// maxRate bounds a price: past it, sums of prices lose their cents.
const maxRate = 1e12
