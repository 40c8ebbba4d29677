// Package attentiontest has the cases of package attention: attentions and their gradients. Package
// suite runs them.
package attentiontest
