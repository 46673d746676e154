package rights

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// request is what the audit log says of one.
type request struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		APIGroup    string `json:"apiGroup"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	RequestURI  string            `json:"requestURI"`
	Annotations map[string]string `json:"annotations"`
}

// requests are all that a user asked for.
func requests(t *testing.T, user string) []request {
	t.Helper()
	file, err := os.Open(audited)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var found []request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one request
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		if one.User.Username == user {
			found = append(found, one)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// right is one verb on one resource; name is that of the only object it is for, if the rule names one.
type right struct{ verb, resource, name string }

func (r right) String() string { return strings.TrimSpace(r.verb + " " + r.resource + " " + r.name) }

// rightsOf takes rules apart.
func rightsOf(rules []rbacv1.PolicyRule) []right {
	var found []right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						found = append(found, right{verb, qualified(resource, group), name})
					}
				}
			}
		}
	}
	return found
}

// qualified is a resource with its API group, as kubectl auth can-i takes it.
func qualified(resource, group string) string {
	plural, subresource, _ := strings.Cut(resource, "/")
	return strings.TrimSuffix(strings.TrimSuffix(plural+"."+group, ".")+"/"+subresource, "/")
}

// uses is whether a request made use of a right.
func (r right) uses(one request) bool {
	ref := one.ObjectRef
	return one.Verb == r.verb && (r.name == "" || r.name == ref.Name) &&
		qualified(strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/"), ref.APIGroup) == r.resource
}

// forbidden are the requests that were.
func forbidden(all []request) []request {
	return slices.DeleteFunc(slices.Clone(all), func(one request) bool { return one.Annotations["authorization.k8s.io/decision"] != "forbid" })
}
