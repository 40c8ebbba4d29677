package irconf

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	labelLine = regexp.MustCompile(`(?m)^([a-z]\w*)(\(.*\))?:$`)
	jumpLine  = regexp.MustCompile(`(?m)^  (?:jump|br) .*$`)
	jumpLabel = regexp.MustCompile(`([ ])([a-z]\w*)`)
)

// number gives the blocks of a text the names that the IR wants, b0, b1 and so
// on, so that the programs here can call them by what they are for.
func number(text string) string {
	names := map[string]string{}
	for i, m := range labelLine.FindAllStringSubmatch(text, -1) {
		names[m[1]] = fmt.Sprintf("b%d", i)
	}
	text = labelLine.ReplaceAllStringFunc(text, func(s string) string {
		name := labelLine.FindStringSubmatch(s)[1]
		return names[name] + strings.TrimPrefix(s, name)
	})
	return jumpLine.ReplaceAllStringFunc(text, func(s string) string {
		return jumpLabel.ReplaceAllStringFunc(s, func(word string) string {
			if n, ok := names[word[1:]]; ok {
				return " " + n
			}
			return word
		})
	})
}
