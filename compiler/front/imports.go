package front

import (
	"errors"
	"path"
	"strings"
)

// findImport returns the import of f that name refers to, and its unit if
// kernels can use it.
func (b *build) findImport(f *file, name string) (*importSpec, *unit, error) {
	var rest []*importSpec
	for _, im := range f.imports {
		switch {
		case im.name == name || im.name == "" && guessName(im.path) == name:
			u, err := b.unit(im.path)
			return im, u, err
		case im.name == "":
			rest = append(rest, im)
		}
	}
	for _, im := range rest { // the package's name may differ from its path
		if u, err := b.unit(im.path); err == nil && u.name == name {
			return im, u, nil
		}
	}
	return nil, nil, errors.New("not imported")
}

// guessName returns the name that a package with this path usually has.
func guessName(p string) string {
	base := path.Base(p)
	if rest, ok := strings.CutPrefix(base, "v"); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
		base = path.Base(path.Dir(p))
	}
	base, _, _ = strings.Cut(base, ".v")
	return strings.TrimPrefix(base, "go-")
}
