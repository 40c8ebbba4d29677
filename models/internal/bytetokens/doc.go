// Package bytetokens has a tokenizer for tests of packages that make text.
package bytetokens
