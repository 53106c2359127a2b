//! What roles cannot say: an agent changes its own node alone, and of nodes nothing but our labels.

use airside_image_rules::label::PREFIX;

pub(super) fn policy(namespace: &str) -> String {
    format!(
        "\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: airside-images
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [\"\"]
      apiVersions: [\"*\"]
      operations: [CREATE, UPDATE, DELETE]
      resources: [nodes, nodes/*]
    - apiGroups: [images.airside.dev]
      apiVersions: [\"*\"]
      operations: [CREATE, UPDATE, DELETE]
      resources: [nodeimages, nodeimages/*]
  matchConditions:
  - name: agents-and-operator
    expression: >-
      request.userInfo.username in ['system:serviceaccount:{namespace}:airside-node',
      'system:serviceaccount:{namespace}:airside-images-operator']
  variables:
  - name: isAgent
    expression: request.userInfo.username == 'system:serviceaccount:{namespace}:airside-node'
  - name: isNode
    expression: request.resource.resource == 'nodes'
  - name: target
    expression: 'object == null ? oldObject.metadata.name : object.metadata.name'
  - name: tokensNode
    expression: >-
      'authentication.kubernetes.io/node-name' in request.userInfo.extra
      ? request.userInfo.extra['authentication.kubernetes.io/node-name'][0] : ''
  - name: isUpdate
    expression: request.operation == 'UPDATE'
  - name: before
    expression: 'variables.isNode && variables.isUpdate && has(oldObject.metadata.labels) ? oldObject.metadata.labels : {{}}'
  - name: after
    expression: 'variables.isNode && variables.isUpdate && has(object.metadata.labels) ? object.metadata.labels : {{}}'
  validations:
  - expression: '!variables.isAgent || variables.tokensNode != \"\"'
    message: an agent of images needs a token that is bound to its node
  - expression: '!variables.isAgent || variables.tokensNode == \"\" || variables.target == variables.tokensNode'
    messageExpression: \"'the agent of images on ' + variables.tokensNode + ' may not change ' + variables.target\"
  - expression: '!variables.isNode || (variables.isUpdate && (!has(request.subResource) || request.subResource == \"\"))'
    message: of nodes only labels are changed here
  - expression: >-
      !variables.isNode || !variables.isUpdate ||
      (variables.after.all(key, key.startsWith('{PREFIX}') ||
      (key in variables.before && variables.before[key] == variables.after[key])) &&
      variables.before.all(key, key.startsWith('{PREFIX}') || key in variables.after))
    message: of a node's labels only those that begin with {PREFIX} are changed here
  - expression: >-
      !variables.isNode || !variables.isUpdate ||
      (object.spec == oldObject.spec &&
      object.metadata.?annotations == oldObject.metadata.?annotations &&
      object.metadata.?finalizers == oldObject.metadata.?finalizers &&
      object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences)
    message: of a node nothing but labels is changed here
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: airside-images
spec:
  policyName: airside-images
  validationActions: [Deny]
"
    )
}
