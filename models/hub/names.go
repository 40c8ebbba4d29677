package hub

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	repoName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$`)
	notRepo  = regexp.MustCompile(`--|\.\.|\.git$|[.-]$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	sha256ID = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// checkRepo checks the name of a repository, as the hub has them.
func checkRepo(name string) error {
	if len(name) > 96 || !repoName.MatchString(name) || notRepo.MatchString(name) {
		return fmt.Errorf("hub: %w: %q: want one such as org/name", ErrName, name)
	}
	return nil
}

// checkPath checks a name that becomes one of a file below a folder.
func checkPath(name string) error {
	local := filepath.IsLocal(filepath.FromSlash(name)) && path.Clean(name) == name && name != "."
	if !local || len(name) > 1000 || strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == '\\' || r == ':' || r == 0x7f
	}) {
		return fmt.Errorf("%w: %q is no name of a file", ErrAnswer, name)
	}
	return nil
}

// Name is what a text names: a repository, a revision of it, and a part.
type Name struct {
	Repo     string // org/name
	Revision string // a branch, tag or commit, or "" for main
	Part     string // a file, or the type of a GGUF file's weights such as Q4_K_M, or ""
}

// ParseName reads org/name, org/name@revision, and both with :part behind it. An organisation is
// always there, which tells such names from those of files in the working directory.
func ParseName(text string) (Name, error) {
	var n Name
	var revised, parted bool
	n.Repo, n.Part, parted = strings.Cut(text, ":")
	n.Repo, n.Revision, revised = strings.Cut(n.Repo, "@")
	if !strings.Contains(n.Repo, "/") || parted && n.Part == "" || revised && n.Revision == "" {
		return n, fmt.Errorf("hub: %w: %q: want one such as org/name, org/name@revision or"+
			" org/name:Q4_K_M", ErrName, text)
	}
	return n, checkRepo(n.Repo)
}

// matches reports whether a name matches one of some patterns, in which * stands for any
// characters, slashes too, and ? for one. A pattern with a slash at its end is all that is below.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if strings.HasSuffix(p, "/") {
			p += "*"
		}
		p = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(p))
		if regexp.MustCompile("(?s)^" + p + "$").MatchString(name) {
			return true
		}
	}
	return false
}
