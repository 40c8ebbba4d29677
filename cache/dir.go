package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrUnusable is in the chain of errors that say why a directory cannot serve
// as a cache at all: there is none, it is no directory, or others can write
// to it.
var ErrUnusable = errors.New("cache unusable")

// errNoDir is the state of a store opened on "".
var errNoDir = fmt.Errorf("%w: no directory: neither KILN_CACHE_DIR nor a home directory is set; set KILN_CACHE_DIR", ErrUnusable)

// DefaultDir returns $KILN_CACHE_DIR, or "kiln" below the user's cache
// directory, or "" where the system names none. [Open] takes each of them.
func DefaultDir() string {
	if dir := os.Getenv("KILN_CACHE_DIR"); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "kiln")
}

// checkDir reports why dir must not be used: nobody but the user and root may be able to
// put something into it, or to put something else in its place. A missing directory gives an
// error that is fs.ErrNotExist, any other is ErrUnusable.
func checkDir(dir string) error {
	// What links lead to is looked at, and what that lies in: a link can change afterwards
	// only where a directory above it lets it.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return missingOr(err)
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return missingOr(err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a directory; remove it or set KILN_CACHE_DIR", ErrUnusable, dir)
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	return checkAbove(dir, real)
}

// missingOr is the error of a directory that cannot be looked at.
func missingOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %w; set KILN_CACHE_DIR to a directory of yours", ErrUnusable, err)
}

// CheckFile reports why a file must not be run that lies somewhere else than in a cache:
// others can write to it. It is not for files that are signed.
func CheckFile(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return checkFileOwner(name, info)
}
