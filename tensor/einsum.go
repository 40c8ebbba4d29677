package tensor

import (
	"fmt"
	"slices"
	"strings"
)

// Einsum adds up products of elements as a formula in Einstein's notation says: a letter
// for each dimension of each operand, and those of the result. A letter that the result
// has not is summed over; without an arrow the result has the letters that are there
// once, in order of the alphabet. "..." stands for dimensions that are broadcast, as one of size 1
// is to that of the same letter of another operand.
//
//	tensor.Einsum("bij,bjk->bik", x, y) // products of matrices
//	tensor.Einsum("ii", x)              // the trace
//	tensor.Einsum("...ij->...ji", x)    // the transpose
//
// Several operands are taken two at a time from the left.
func Einsum(formula string, list ...*Tensor) *Tensor {
	const op = "einsum"
	if bad := first(op, list...); bad != nil {
		return bad
	}
	terms, result, sizes, err := parseEinsum(formula, list)
	if err != nil {
		return failed(op, err)
	}
	list = stretched(list, terms, sizes)
	acc, have := diagonals(list[0], terms[0])
	for i, t := range list[1:] {
		// Letters that nothing later needs can be summed over now.
		later := result
		for _, more := range terms[i+2:] {
			later += more
		}
		next, letters := diagonals(t, terms[i+1])
		acc, have = contract(acc, have, next, letters, later)
	}
	return arrange(acc, have, result)
}

// stretched returns operands in which a letter has one size.
func stretched(list []*Tensor, terms []string, sizes map[rune]int) []*Tensor {
	out := slices.Clone(list)
	for i, term := range terms {
		shape := list[i].Shape()
		for d, r := range []rune(term) {
			if r < 128 {
				shape[d] = sizes[r]
			}
		}
		if !shape.Equal(list[i].layout.Shape()) {
			out[i] = list[i].BroadcastTo(shape...)
		}
	}
	return out
}

// ellipsis are the letters that dimensions behind "..." get: capital Greek ones, which a
// formula cannot have, from the innermost.
const ellipsis = "ΑΒΓΔΕΖΗΘ"

// parseEinsum returns the letters of the operands and of the result, and the sizes of the letters.
func parseEinsum(formula string, list []*Tensor) (terms []string, result string, sizes map[rune]int, err error) {
	in, out, arrow := strings.Cut(strings.ReplaceAll(formula, " ", ""), "->")
	terms = strings.Split(in, ",")
	if len(terms) != len(list) {
		return nil, "", nil, fmt.Errorf("%w: %q has %d operands, %d are given", ErrArgument, formula, len(terms), len(list))
	}
	widest := 0
	sizes = map[rune]int{}
	for i, term := range terms {
		s := list[i].layout.Shape()
		more := len(s) - len(strings.Replace(term, "...", "", 1))
		if more < 0 || more > 0 && !strings.Contains(term, "...") || more > 8 {
			return nil, "", nil, fmt.Errorf("%w: %q for an operand of %v", ErrRank, term, s)
		}
		widest = max(widest, more)
		terms[i] = strings.Replace(term, "...", greek(more), 1)
		for d, r := range []rune(terms[i]) {
			if r < 128 && (r < 'A' || r > 'z' || r > 'Z' && r < 'a') {
				return nil, "", nil, fmt.Errorf("%w: %q in %q is no letter", ErrArgument, string(r), formula)
			}
			n, ok := sizes[r]
			within := slices.Index([]rune(terms[i]), r) // a diagonal is of one size
			if ok && n != s[d] && n != 1 && s[d] != 1 || s[within] != s[d] {
				return nil, "", nil, fmt.Errorf("%w: %q has sizes %d and %d", ErrShape, string(r), max(n, s[within]), s[d])
			}
			if !ok || n == 1 {
				sizes[r] = s[d]
			}
		}
	}
	result = strings.Replace(out, "...", greek(widest), 1)
	if !arrow {
		result = greek(widest)
		for _, r := range slices.Sorted(slices.Values([]rune(strings.Join(terms, "")))) {
			if r < 128 && strings.Count(strings.Join(terms, ""), string(r)) == 1 {
				result += string(r)
			}
		}
	}
	for i, r := range result {
		if _, ok := sizes[r]; !ok || strings.ContainsRune(result[:i], r) {
			return nil, "", nil, fmt.Errorf("%w: %q of the result of %q is not once in it and in an operand", ErrArgument, string(r), formula)
		}
	}
	return terms, result, sizes, nil
}

// greek returns the letters of n dimensions, the outermost first.
func greek(n int) string {
	r := []rune(ellipsis)[:n]
	slices.Reverse(r)
	return string(r)
}

// diagonals returns a view in which every letter is once.
func diagonals(t *Tensor, letters string) (*Tensor, []rune) {
	list := []rune(letters)
	for i := 0; i < len(list); i++ {
		for j := i + 1; j < len(list); j++ {
			if list[i] == list[j] {
				r := list[i]
				t = t.Diagonal(0, i, j)
				list = append(slices.Delete(slices.Delete(list, j, j+1), i, i+1), r)
				i = -1
				break
			}
		}
	}
	return t, list
}

// contract multiplies two tensors and sums over the letters that nothing later needs: as
// a product of matrices, whose batch has the letters that both have and later needs.
func contract(a *Tensor, la []rune, b *Tensor, lb []rune, later string) (*Tensor, []rune) {
	a, la = sumUnneeded(a, la, string(lb)+later)
	b, lb = sumUnneeded(b, lb, string(la)+later)
	var batch, sum, left, right []rune
	for _, r := range la {
		switch inB, needed := slices.Contains(lb, r), strings.ContainsRune(later, r); {
		case inB && needed:
			batch = append(batch, r)
		case inB:
			sum = append(sum, r)
		default:
			left = append(left, r)
		}
	}
	for _, r := range lb {
		if !slices.Contains(la, r) {
			right = append(right, r)
		}
	}
	x := ordered(a, la, slices.Concat(batch, left, sum))
	y := ordered(b, lb, slices.Concat(batch, sum, right))
	// A letter may be of size 1 in one of them, behind "...".
	shapes := func(t *Tensor, skip, n int) Shape { return t.layout.Shape()[skip : skip+n] }
	if x.err != nil || y.err != nil {
		return either(first("einsum", x, y), x), nil
	}
	nb, ns := len(batch), len(sum)
	l, r := shapes(x, nb, len(left)), shapes(y, nb+ns, len(right))
	m := x.Reshape(append(append(Shape(nil), shapes(x, 0, nb)...), l.Count(), shapes(x, nb+len(left), ns).Count())...)
	n := y.Reshape(append(append(Shape(nil), shapes(y, 0, nb)...), shapes(y, nb, ns).Count(), r.Count())...)
	p := m.MatMul(n)
	if p.err != nil {
		return p, nil
	}
	shape := append(append(append(Shape(nil), p.layout.Shape()[:nb]...), l...), r...)
	return p.Reshape(shape...), slices.Concat(batch, left, right)
}

// sumUnneeded sums over the letters that are not in others.
func sumUnneeded(t *Tensor, letters []rune, others string) (*Tensor, []rune) {
	var dims []int
	var rest []rune
	for d, r := range letters {
		if strings.ContainsRune(others, r) {
			rest = append(rest, r)
		} else {
			dims = append(dims, d)
		}
	}
	if len(dims) == 0 {
		return t, letters
	}
	return t.SumAs(t.dtype, dims...), rest
}

// ordered permutes the dimensions from letters to order, which are the same ones.
func ordered(t *Tensor, letters, order []rune) *Tensor {
	dims := make([]int, len(order))
	for i, r := range order {
		dims[i] = slices.Index(letters, r)
	}
	return t.Permute(dims...)
}

// arrange sums over what the result has not and orders the rest.
func arrange(t *Tensor, letters []rune, result string) *Tensor {
	if t.err != nil {
		return t
	}
	t, letters = sumUnneeded(t, letters, result)
	return ordered(t, letters, []rune(result))
}
