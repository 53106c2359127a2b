// Hands the token to the fly that waits on this machine, after a click. A stranger can make a link to
// this page with another program's port, so nothing goes there by itself.
const send = document.getElementById('send');
const said = document.getElementById('said');

if (send instanceof HTMLAnchorElement) send.addEventListener('click', (event) => {
  event.preventDefault();
  fetch(send.href).then(() => {
    if (said) said.textContent = 'fly is logged in. You can close this page.';
    document.getElementById('token')?.parentElement?.remove();
    send.remove();
  }).catch(() => {
    location.href = send.href;
  });
});
