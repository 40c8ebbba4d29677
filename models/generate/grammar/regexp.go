package grammar

import (
	"regexp/syntax"
	"unicode"
)

// Regexp returns the grammar of texts that a regular expression matches as a whole, in the form of
// package regexp. Boundaries of words are errors, and so are ^ and $ but at the ends.
func Regexp(pattern string) (*Grammar, error) {
	if len(pattern) > maxText {
		return nil, bad("an expression of %d bytes", len(pattern))
	}
	e, err := regexpExpr(pattern)
	if err != nil {
		return nil, err
	}
	return compile(map[string]expr{"root": e}, []string{"root"})
}

func regexpExpr(pattern string) (expr, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, bad("%w", err)
	}
	return ofRegexp(trimmed(re))
}

// trimmed is an expression without ^ in front and $ at the end, which say nothing here.
func trimmed(re *syntax.Regexp) *syntax.Regexp {
	if re.Op != syntax.OpConcat {
		if re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText {
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}
		}
		return re
	}
	out := *re
	out.Sub = append([]*syntax.Regexp(nil), re.Sub...)
	for len(out.Sub) > 0 && out.Sub[0].Op == syntax.OpBeginText {
		out.Sub = out.Sub[1:]
	}
	for n := len(out.Sub); n > 0 && out.Sub[n-1].Op == syntax.OpEndText; n-- {
		out.Sub = out.Sub[:n-1]
	}
	return &out
}

func ofRegexp(re *syntax.Regexp) (expr, error) {
	var list []expr
	for _, sub := range re.Sub {
		e, err := ofRegexp(sub)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return alt{}, nil
	case syntax.OpEmptyMatch:
		return seq{}, nil
	case syntax.OpLiteral:
		return runes(re), nil
	case syntax.OpCharClass:
		var c class
		for i := 0; i < len(re.Rune); i += 2 {
			c = append(c, span{re.Rune[i], re.Rune[i+1]})
		}
		return c, nil
	case syntax.OpAnyCharNotNL:
		return class{{'\n', '\n'}}.inverted(), nil
	case syntax.OpAnyChar:
		return anyRune, nil
	case syntax.OpCapture, syntax.OpConcat:
		return seq(list), nil
	case syntax.OpAlternate:
		return alt(list), nil
	case syntax.OpStar:
		return many(list[0]), nil
	case syntax.OpPlus:
		return repeat{list[0], 1, -1}, nil
	case syntax.OpQuest:
		return optional(list[0]), nil
	case syntax.OpRepeat:
		return repeat{list[0], re.Min, re.Max}, nil
	}
	return nil, bad("%s in an expression is not supported here", re)
}

// runes is a literal, in upper and lower case if the expression says so.
func runes(re *syntax.Regexp) expr {
	if re.Flags&syntax.FoldCase == 0 {
		return literal(string(re.Rune))
	}
	var list seq
	for _, r := range re.Rune {
		c := class{{r, r}}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			c = append(c, span{f, f})
		}
		list = append(list, c)
	}
	return list
}
