//! What a right to patch pods comes to for admission's account: the gate of pods that wait, and nothing they would run.

use airside_image_rules::placement::GATE;

use crate::NAME;

pub(super) fn policy(namespace: &str) -> String {
    format!(
        "\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [\"\"]
      apiVersions: [v1]
      operations: [UPDATE]
      resources: [pods]
  matchConditions:
  - name: by-admission
    expression: request.userInfo.username == 'system:serviceaccount:{namespace}:{NAME}'
  validations:
  - message: only pods that wait for their images may be changed
    expression: >-
      has(oldObject.spec.schedulingGates) && oldObject.spec.schedulingGates.exists(gate, gate.name == '{GATE}')
  - message: what a pod runs may not be changed
    expression: >-
      object.spec.containers.map(container, container.image) == oldObject.spec.containers.map(container, container.image)
      && (has(object.spec.initContainers) ? object.spec.initContainers.map(container, container.image) : [])
      == (has(oldObject.spec.initContainers) ? oldObject.spec.initContainers.map(container, container.image) : [])
  - message: where a pod goes may not be changed
    expression: >-
      (has(object.spec.nodeSelector) ? object.spec.nodeSelector : {{}})
      == (has(oldObject.spec.nodeSelector) ? oldObject.spec.nodeSelector : {{}})
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {NAME}
spec:
  policyName: {NAME}
  validationActions: [Deny]
"
    )
}
