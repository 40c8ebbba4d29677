package constval

import (
	"fmt"
	"strconv"
	"strings"
)

// valueMarks reads the comment above a kernel that names values for kiln check
// and kiln emit, where 1 and 8, false and true make no sense:
//
//	//kiln:const tile=16,32 cfg.Fast=true
//
// The result has the values for input.FillSmall and input.FillLarge; one value is both.
func valueMarks(text string) (values map[string][2]int64, wrong string) {
	values = map[string][2]int64{}
	for _, field := range strings.Fields(text) {
		name, list, ok := strings.Cut(field, "=")
		small, large, two := strings.Cut(list, ",")
		if !two {
			large = small
		}
		a, err1 := Parse(small)
		b, err2 := Parse(large)
		if !ok || name == "" || err1 != nil || err2 != nil {
			return nil, field
		}
		values[name] = [2]int64{a, b}
	}
	return values, ""
}

// Parse reads the value of a compile-time parameter: an integer as Go
// writes it, true or false.
func Parse(text string) (int64, error) {
	switch text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is neither an integer nor true or false", text)
	}
	return n, nil
}
